/* SPDX-License-Identifier: MIT
 *
 * conv.h - reads the rows of CONV (llamad/op.h).  The formulas, and decoding and encoding of the
 * state, are left to the backend.
 *
 * Rows are numbered from the sequence's first row in this step.  Earlier rows have negative
 * numbers and come from the state slot, which is decoded before anything is written because a
 * sequence may read and write the same slot. */
#ifndef LLAMAD_BACKEND_COMMON_CONV_H
#define LLAMAD_BACKEND_COMMON_CONV_H

#include "backend/common/compiled_plan.h"
#include "backend/common/view.h"

struct host_mem_conv {
	const struct host_mem_run *r;
	const struct lmd_op_conv *op;
	const struct lmd_weight *w;   /* DEPTHWISE only */
	const struct host_mem_cache *cache; /* NULL: no rows exist before the first */
	const struct lmd_pool *pool;  /* that holds the cache */
	struct host_mem_view x, score, y;
	uint32_t cols; /* columns of x */
	/* The sequence being computed. */
	uint32_t seq, first, n;
	float *history; /* [dk of the cache][k_cols of the cache] */
	float *row;     /* [k_cols of the cache] */
};

/* Adds the scratch that one part needs.  cache: the op's cache, or NULL. */
static inline void host_mem_conv_need(uint64_t *bytes, const struct host_mem_cache *cache)
{
	if (!cache)
		return;
	host_mem_need(bytes, cache->desc.dk, cache->k_cols * sizeof(float));
	host_mem_need(bytes, cache->k_cols, sizeof(float));
}

static inline struct host_mem_conv host_mem_conv_take(char **cursor, const struct host_mem_run *r,
						      const struct host_mem_compiled_plan *p,
						      const struct lmd_op_conv *op)
{
	struct host_mem_conv c = {
		.r = r,
		.op = op,
		.x = host_mem_view(r, &op->x),
		.score = host_mem_view(r, &op->score),
		.y = host_mem_view(r, &op->y),
		.w = op->kind == LMD_CONV_DEPTHWISE ? p->weights[op->w] : NULL,
		.cache = op->cache == LMD_NONE ? NULL : p->caches[op->cache],
	};

	c.cols = host_mem_cols(&c.x);
	if (c.cache) {
		c.pool = p->pools[c.cache->desc.group];
		c.history =
			host_mem_take(cursor, c.cache->desc.dk, c.cache->k_cols * sizeof(float));
		c.row = host_mem_take(cursor, c.cache->k_cols, sizeof(float));
	}
	return c;
}

/* Column `col` of row i, 0 if there is no such row; columns from c->cols on are those of score. */
static inline float host_mem_conv_at(const struct host_mem_conv *c, int64_t i, uint32_t col)
{
	if (i >= (int64_t)c->n)
		return 0;
	if (i >= 0)
		return col < c->cols ? host_mem_cell_get(&c->x, c->first + (uint32_t)i, col)
				     : host_mem_cell_get(&c->score, c->first + (uint32_t)i,
							 col - c->cols);
	if (!c->cache || -i > (int64_t)c->cache->desc.dk)
		return 0;
	return c->history[(size_t)(c->cache->desc.dk + i) * c->cache->k_cols + col];
}

/* Fills c->row with row j of the dk rows that end with row i.  These dk rows are what the state
 * keeps after row i. */
static inline const float *host_mem_conv_state_row(const struct host_mem_conv *c, uint32_t i,
						   uint32_t j)
{
	for (uint32_t col = 0; col < c->cache->k_cols; col++)
		c->row[col] = host_mem_conv_at(c, (int64_t)i + 1 + j - c->cache->desc.dk, col);
	return c->row;
}

/* State slots: host_mem_conv_slot_in is read before the sequence's rows, host_mem_conv_slot_out is
 * written after its row i.  Negative = none. */
static inline int32_t host_mem_conv_slot_in(const struct host_mem_conv *c)
{
	return c->cache ? c->r->step->group[c->cache->desc.group].state_in[c->seq] : -1;
}

static inline int32_t host_mem_conv_slot_out(const struct host_mem_conv *c, uint32_t i)
{
	return c->cache ? c->r->step->group[c->cache->desc.group].state_out[c->first + i] : -1;
}

/* Stores the width and height of the map that the sequence's rows form; without a map they are one
 * line of all rows. */
static inline void host_mem_conv_map(const struct host_mem_conv *c, uint32_t size[2])
{
	if (!c->op->map || !host_mem_map_size(c->r, c->y.space, c->seq, size)) {
		size[0] = c->n;
		size[1] = 1;
	}
	size[0] = size[0] ? size[0] : 1;
}

#endif /* LLAMAD_BACKEND_COMMON_CONV_H */
