/* SPDX-License-Identifier: MIT
 *
 * Counting sort of the choices. */
#include "lists.h"

void ref_lists_need(struct ref_build *b, uint64_t n_pair, uint32_t n_slice)
{
	ref_need(&b->shared_bytes, (uint64_t)n_slice + 2, sizeof(uint32_t));
	ref_need(&b->shared_bytes, n_pair, sizeof(uint32_t));
}

struct ref_lists ref_lists_take(char **cursor, uint64_t n_pair, uint32_t n_slice)
{
	struct ref_lists l = {.n_pair = n_pair, .n_slice = n_slice};

	l.start = ref_take(cursor, (uint64_t)n_slice + 2, sizeof(uint32_t));
	l.pair = ref_take(cursor, n_pair, sizeof(uint32_t));
	return l;
}

static uint32_t slice_of(const struct ref_lists *l, const struct ref_view *ids, uint64_t pair,
			 uint32_t k)
{
	int32_t id = ref_cell_i32(ids, (uint32_t)(pair / k), pair % k);

	return id < 0 || (uint32_t)id >= l->n_slice ? l->n_slice : (uint32_t)id;
}

void ref_lists_fill(const struct ref_lists *l, const struct ref_view *ids, uint32_t k)
{
	memset(l->start, 0, ((size_t)l->n_slice + 2) * sizeof(*l->start));
	for (uint64_t i = 0; i < l->n_pair; i++)
		l->start[slice_of(l, ids, i, k) + 1]++;
	for (uint32_t e = 0; e <= l->n_slice; e++)
		l->start[e + 1] += l->start[e];
	/* start[e] runs ahead while pairs are placed ... */
	for (uint64_t i = 0; i < l->n_pair; i++)
		l->pair[l->start[slice_of(l, ids, i, k)]++] = (uint32_t)i;
	/* ... and ends where e + 1 begins */
	for (uint32_t e = l->n_slice + 1; e > 0; e--)
		l->start[e] = l->start[e - 1];
	l->start[0] = 0;
}
