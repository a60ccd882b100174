/* SPDX-License-Identifier: MIT
 *
 * lists.h - (row, choice) pairs sorted by the slice they chose: for LINEAR with ids and MOE_FFN.
 *
 * Pair number = row * k + choice.  List e holds the pairs that chose slice e, in ascending order;
 * list n_slice those whose id is negative (or beyond the stack). */
#ifndef LLAMAD_REF_LISTS_H
#define LLAMAD_REF_LISTS_H

#include "view.h"

struct ref_lists {
	uint32_t *start; /* [n_slice + 2] */
	uint32_t *pair;	 /* [n_pair] */
	uint64_t n_pair;
	uint32_t n_slice;
};

void ref_lists_need(struct ref_build *b, uint64_t n_pair, uint32_t n_slice);
struct ref_lists ref_lists_take(char **cursor, uint64_t n_pair, uint32_t n_slice);
/* ids: [rows, k]. */
void ref_lists_fill(const struct ref_lists *l, const struct ref_view *ids, uint32_t k);

static inline const uint32_t *ref_lists_of(const struct ref_lists *l, uint32_t slice,
					   uint32_t *count)
{
	*count = l->start[slice + 1] - l->start[slice];
	return l->pair + l->start[slice];
}

#endif /* LLAMAD_REF_LISTS_H */
