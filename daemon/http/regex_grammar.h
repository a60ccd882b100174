/* SPDX-License-Identifier: MIT
 *
 * regex_grammar.h - a grammar for the texts that match a regular expression as a whole. */
#ifndef LLAMAD_DAEMON_HTTP_REGEX_GRAMMAR_H
#define LLAMAD_DAEMON_HTTP_REGEX_GRAMMAR_H

#include <stddef.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmd_arena;

/* Maximum depth of groups. */
#define LMI_HTTP_REGEX_DEPTH 64

/* Writes the grammar in GBNF, in the arena, with at most max bytes.  Groups, classes, alternatives
 * and repetition are supported; what a grammar cannot express, such as look-around and back
 * references, is LMD_UNSUPPORTED, and a mistake LMD_INVALID, both with the position.  LMD_NOMEM.
 * Pure. */
enum lmd_status lmi_http_regex_grammar(struct lmd_str *out, const struct lmd_str *regex, size_t max,
				       struct lmd_arena *arena, struct lmd_error *err);

#endif /* LLAMAD_DAEMON_HTTP_REGEX_GRAMMAR_H */
