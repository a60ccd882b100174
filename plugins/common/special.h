/* SPDX-License-Identifier: MIT
 *
 * special.h - cuts a text at the tokens that are matched as they stand.
 *
 * User-defined tokens are always matched, control and unknown ones on request.  Longer
 * texts go first: each token, in the order of struct lmi_special, takes all its places,
 * from the left, in what the ones before it have left over. */
#ifndef LLAMAD_PLUGINS_COMMON_SPECIAL_H
#define LLAMAD_PLUGINS_COMMON_SPECIAL_H

#include "common/vocab.h"

/* A place that a token took; white space that it strips is inside. */
struct lmi_claim {
	uint32_t begin, end;
	uint32_t id;
};

/* Collects the special tokens of v, whose attributes are final. */
enum lmd_status lmi_special_init(struct lmi_vocab *v, struct lmd_error *err);
void lmi_special_fini(struct lmi_vocab *v);

/* Finds the claims, ascending and apart from each other.  claims->p is an array of
 * struct lmi_claim; *n_claims its length.  n < 2^32. */
enum lmd_status lmi_special_find(const struct lmi_vocab *v, const char *text, size_t n,
				 bool control, struct lmi_buf *claims, size_t *n_claims);

#endif /* LLAMAD_PLUGINS_COMMON_SPECIAL_H */
