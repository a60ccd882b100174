/* SPDX-License-Identifier: MIT
 *
 * Counting sort of the choices. */
#include "backend/common/lists.h"

#include <string.h>

void host_mem_lists_need(uint64_t *bytes, uint64_t n_pair, uint32_t n_slice)
{
	host_mem_need(bytes, (uint64_t)n_slice + 2, sizeof(uint32_t));
	host_mem_need(bytes, n_pair, sizeof(uint32_t));
	host_mem_need(bytes, (uint64_t)n_slice + 1, sizeof(uint32_t));
}

struct host_mem_lists host_mem_lists_take(char **cursor, uint64_t n_pair, uint32_t n_slice)
{
	struct host_mem_lists l = {.n_pair = n_pair, .n_slice = n_slice};

	l.start = host_mem_take(cursor, (uint64_t)n_slice + 2, sizeof(uint32_t));
	l.pair = host_mem_take(cursor, n_pair, sizeof(uint32_t));
	l.used = host_mem_take(cursor, (uint64_t)n_slice + 1, sizeof(uint32_t));
	return l;
}

static uint32_t slice_of(const struct host_mem_lists *l, const struct host_mem_view *ids,
			 uint64_t pair, uint32_t k)
{
	int32_t id = host_mem_cell_i32(ids, (uint32_t)(pair / k), pair % k);

	return id < 0 || (uint32_t)id >= l->n_slice ? l->n_slice : (uint32_t)id;
}

void host_mem_lists_fill(const struct host_mem_lists *l, const struct host_mem_view *ids,
			 uint32_t k)
{
	memset(l->start, 0, ((size_t)l->n_slice + 2) * sizeof(*l->start));
	for (uint64_t i = 0; i < l->n_pair; i++)
		l->start[slice_of(l, ids, i, k) + 1]++;
	for (uint32_t e = 0; e <= l->n_slice; e++)
		l->start[e + 1] += l->start[e];
	/* start[e] advances to the end of list e while its pairs are placed, ... */
	for (uint64_t i = 0; i < l->n_pair; i++)
		l->pair[l->start[slice_of(l, ids, i, k)]++] = (uint32_t)i;
	/* ... which is where list e + 1 starts: shift the starts back by one. */
	for (uint32_t e = l->n_slice + 1; e > 0; e--)
		l->start[e] = l->start[e - 1];
	l->start[0] = 0;
	l->used[l->n_slice] = 0;
	for (uint32_t e = 0; e < l->n_slice; e++) {
		if (l->start[e + 1] > l->start[e])
			l->used[l->used[l->n_slice]++] = e;
	}
}
