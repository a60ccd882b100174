/* SPDX-License-Identifier: MIT
 *
 * lists.h - (row, choice) pairs sorted by the slice that they chose; for LINEAR with ids and for
 * MOE_FFN.
 *
 * The number of a pair is row * k + choice.  List e holds the pairs that chose slice e in
 * ascending order; list n_slice holds those whose id is negative or past the end of the stack. */
#ifndef LLAMAD_BACKEND_COMMON_LISTS_H
#define LLAMAD_BACKEND_COMMON_LISTS_H

#include "backend/common/view.h"

struct host_mem_lists {
	uint32_t *start; /* [n_slice + 2] */
	uint32_t *pair;  /* [n_pair] */
	uint32_t *
		used; /* [n_slice + 1] slices chosen at least once; the last entry is their count */
	uint64_t n_pair;
	uint32_t n_slice;
};

void host_mem_lists_need(uint64_t *bytes, uint64_t n_pair, uint32_t n_slice);
struct host_mem_lists host_mem_lists_take(char **cursor, uint64_t n_pair, uint32_t n_slice);
/* ids: [rows, k]. */
void host_mem_lists_fill(const struct host_mem_lists *l, const struct host_mem_view *ids,
			 uint32_t k);

static inline uint32_t host_mem_lists_n_used(const struct host_mem_lists *l)
{
	return l->used[l->n_slice];
}

static inline const uint32_t *host_mem_lists_of(const struct host_mem_lists *l, uint32_t slice,
						uint32_t *count)
{
	*count = l->start[slice + 1] - l->start[slice];
	return l->pair + l->start[slice];
}

#endif /* LLAMAD_BACKEND_COMMON_LISTS_H */
