/* SPDX-License-Identifier: MIT
 *
 * merge_boundary.h - merge boundaries: places in a word that no merge can cross.
 *
 * A merge across a place has a left part that ends with the character before the place, or with
 * some of its last bytes, and a right part that starts with the character after the place, or with
 * some of its first bytes. If no merge of the vocabulary has such parts, the tokens of the word
 * are exactly the tokens of its two sides one after the other, whatever the ranks. Long words of
 * scripts without blanks are thus split into short ones, which are also more likely to be in the
 * word cache.
 *
 * Places between two ASCII characters are not examined: almost all of them have a merge. */
#ifndef LLAMAD_PLUGINS_COMMON_MERGE_BOUNDARY_H
#define LLAMAD_PLUGINS_COMMON_MERGE_BOUNDARY_H

#include "common/mem.h"

/* A zeroed struct has no boundaries. */
struct tok_merge_boundaries {
	uint8_t *joint;  /* bit by the hash of two characters: some merge may join them */
	uint8_t *broken; /* bit by two bytes: a merge with a part that is not whole characters
			  * may join them */
};

/* Returns false if out of memory. */
bool tok_merge_boundaries_init(struct tok_merge_boundaries *s, const struct lmd_host *host);
void tok_merge_boundaries_fini(struct tok_merge_boundaries *s, const struct lmd_host *host);

/* Records a merge; its parts may be any bytes, at least one each. */
void tok_merge_boundaries_add(struct tok_merge_boundaries *s, const char *left, size_t n_left,
			      const char *right, size_t n_right);

/* Returns the first merge boundary after `at`, which is itself a boundary or the start of the
 * word, or `end` if there is none. The word is canonical UTF-8 (tok_utf8_canonical). */
const char *tok_merge_boundary_next(const struct tok_merge_boundaries *s, const char *at,
				    const char *end);

#endif /* LLAMAD_PLUGINS_COMMON_MERGE_BOUNDARY_H */
