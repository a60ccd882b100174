/* SPDX-License-Identifier: MIT
 *
 * special.h - special token match: finds the tokens that are matched verbatim in a text.
 *
 * User-defined tokens are always matched, control and unknown tokens on request. Longer texts go
 * first: each token, in the order of struct lmi_special, takes all its occurrences, from the left,
 * in the text that earlier tokens have left over. */
#ifndef LLAMAD_PLUGINS_COMMON_SPECIAL_H
#define LLAMAD_PLUGINS_COMMON_SPECIAL_H

#include "common/vocab.h"

/* An occurrence of a token, including the white space that the token strips. */
struct lmi_claim {
	uint32_t begin, end;
	uint32_t id;
};

/* Collects the special tokens of v, whose attributes must be final. */
enum lmd_status lmi_special_init(struct lmi_vocab *v, struct lmd_error *err);
void lmi_special_fini(struct lmi_vocab *v);

/* Finds all occurrences in ascending order, without overlaps. claims->p becomes an array of struct
 * lmi_claim with *n_claims elements. n < 2^32. */
enum lmd_status lmi_special_find(const struct lmi_vocab *v, const char *text, size_t n,
				 bool control, struct lmi_buf *claims, size_t *n_claims);

#endif /* LLAMAD_PLUGINS_COMMON_SPECIAL_H */
