/* SPDX-License-Identifier: MIT
 *
 * kv.h - layout of keys and values inside a page.
 *
 * A pool of pages lies in memory cache by cache; within a cache K, then V; within these head by
 * head; within a head page by page.  So a head's keys are contiguous where the pages of a sequence
 * are, and are read as one stream.  V of a head in a page is its 32 rows one after the other, each
 * encoded on its own.  K is the same, except in KV caches of f32, f16 and bf16, where it is
 * transposed: the 32 rows' numbers of each column are contiguous, so that a query is multiplied
 * with 32 keys at once. */
#ifndef LLAMAD_CPU_KV_H
#define LLAMAD_CPU_KV_H

#include "cpu.h"

/* K, and V, of a head in a page. */
static inline char *cpu_kv_k(const struct host_mem_cache *c, uint32_t page, uint32_t head)
{
	size_t bytes = c->k_head * CPU_PAGE_TOKENS;

	return c->mem + (c->k_off + head * bytes) * c->n_unit + page * bytes;
}

static inline char *cpu_kv_v(const struct host_mem_cache *c, uint32_t page, uint32_t head)
{
	size_t bytes = c->v_head * CPU_PAGE_TOKENS;

	return c->mem + (c->v_off + head * bytes) * c->n_unit + page * bytes;
}

/* Stores a head of K [dk], or of V [dv], in row `row` of a page.  tmp: room for an encoded head. */
void cpu_kv_put_k(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
		  uint32_t head, uint32_t row, const float *x, void *tmp);
void cpu_kv_put_v(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
		  uint32_t head, uint32_t row, const float *x);

/* Reads row `row` of a head's K as dk floats. */
void cpu_kv_get_k(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
		  uint32_t head, uint32_t row, float *x);

/* A head's K of the whole page, column by column [dk][32]: in place if it is stored transposed in
 * f32, else in tmp [dk*32].  tmp2 [dk*32] is used if it is not stored transposed. */
const float *cpu_kv_tile_k(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
			   uint32_t head, float *tmp, float *tmp2);
/* A head's V of the whole page: [32][*ld] floats, of which the first dv of each row are used. */
const float *cpu_kv_tile_v(const struct cpu_dev *dev, const struct host_mem_cache *c, uint32_t page,
			   uint32_t head, float *tmp, uint32_t *ld);

#endif /* LLAMAD_CPU_KV_H */
