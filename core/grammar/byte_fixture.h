/* SPDX-License-Identifier: MIT
 *
 * byte_fixture.h - for tests: a vocabulary of single bytes, and whether a grammar accepts a text. */
#ifndef LLAMAD_CORE_GRAMMAR_BYTE_FIXTURE_H
#define LLAMAD_CORE_GRAMMAR_BYTE_FIXTURE_H

#include <stdbool.h>

#include "core/grammar/grammar.h"

extern struct lmi_grammar_vocab *lmt_bytes;

/* Checked fixture: creates lmt_bytes; destroys it and checks that no memory is left. */
void lmt_bytes_setup(void);
void lmt_bytes_teardown(void);

/* Creates a matcher over lmt_bytes. The caller destroys it before the grammar. */
struct lmi_grammar_matcher *lmt_bytes_matcher(const struct lmi_grammar *g);
/* Returns true if the grammar accepts the whole text. */
bool lmt_bytes_accepts(struct lmi_grammar_matcher *m, const char *text);

#endif /* LLAMAD_CORE_GRAMMAR_BYTE_FIXTURE_H */
