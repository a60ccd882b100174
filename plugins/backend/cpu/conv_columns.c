/* SPDX-License-Identifier: MIT
 *
 * The common CONV: depthwise along time with a state of floats.  Columns are independent of each
 * other, so blocks of them are divided among the threads, and each block goes through its sequence
 * on its own. */
#include <string.h>

#include "conv.h"

#include "act.h"

typedef float block[CONV_BLOCK];

struct columns {
	const struct cpu_run *r;
	const struct lmd_op_conv *op;
	const struct lmd_weight *w;
	const float *w_t; /* [kernel][blocks * CONV_BLOCK] */
	const struct host_mem_cache *cache;
	struct host_mem_view x, y;
	uint32_t dk; /* rows of history */
	/* The current block. */
	uint32_t col0, n_col, seq, first, n_row;
	block *history; /* [dk] */
};

bool conv_has_columns(const struct lmd_op_conv *o, const struct host_mem_cache *c)
{
	return o->kind == LMD_CONV_DEPTHWISE && !o->map && o->x.n_head == 1 && o->y.n_head == 1 &&
	       o->x.fold <= 1 && o->y.fold <= 1 && o->x.src == LMD_SRC_VALUE &&
	       (!c || c->desc.k_dtype == LMD_DTYPE_F32);
}

float *conv_transpose(const struct cpu_dev *dev, const struct lmd_weight *w, uint32_t kernel)
{
	size_t cols = (w->n + CONV_BLOCK - 1) / CONV_BLOCK * CONV_BLOCK;
	float *t = dev->host->alloc(dev->host->ctx, cols * kernel * sizeof(*t));

	for (size_t c = 0; t && c < w->n; c++) {
		for (size_t j = 0; j < kernel; j++)
			t[j * cols + c] = w->flat[c * kernel + j];
	}
	return t;
}

/* Columns of row i of the sequence (of the history if i < 0); NULL = zeros. */
static const float *row_at(const struct columns *c, int64_t i)
{
	if (i >= (int64_t)c->n_row || -i > (int64_t)c->dk)
		return NULL;
	if (i < 0)
		return c->history[c->dk + i];
	return host_mem_el(&c->x, c->first + (uint32_t)i, 0, c->col0);
}

static char *slot_row(const struct columns *c, int32_t slot, uint32_t row)
{
	return host_mem_pool_unit(c->r->compiled_plan->host_mem.pools[c->cache->desc.group],
				  (uint32_t)slot) +
	       c->cache->k_off + row * c->cache->k_row + c->col0 * sizeof(float);
}

static void load(const struct columns *c)
{
	int32_t slot =
		c->cache ? c->r->host_mem.step->group[c->cache->desc.group].state_in[c->seq] : -1;

	for (uint32_t j = 0; j < c->dk; j++) {
		if (slot < 0)
			memset(c->history[j], 0, sizeof(block));
		else
			memcpy(c->history[j], slot_row(c, slot, j), c->n_col * sizeof(float));
	}
}

/* Stores the dk rows that end with row i in the slot of row i. */
static void store(const struct columns *c, uint32_t i)
{
	int32_t slot =
		c->cache ? c->r->host_mem.step->group[c->cache->desc.group].state_out[c->first + i]
			 : -1;

	for (uint32_t j = 0; slot >= 0 && j < c->dk; j++) {
		const float *row = row_at(c, (int64_t)i + 1 + j - c->dk);

		memcpy(slot_row(c, slot, j), row, c->n_col * sizeof(float));
	}
}

static void one_row(const struct columns *c, uint32_t i)
{
	size_t all = (c->w->n + CONV_BLOCK - 1) / CONV_BLOCK * CONV_BLOCK;
	block sum = {0}, in = {0};

	for (uint32_t k = 0; c->w->n_bias && k < c->n_col; k++)
		sum[k] = host_mem_weight_bias(c->w, 0, c->col0 + k);
	for (uint32_t j = 0; j < c->op->kernel; j++) {
		const float *x = row_at(c, (int64_t)i - c->op->left + (int64_t)j * c->op->dilation);
		const float *w = c->w_t + j * all + c->col0;

		if (!x)
			continue;
		memcpy(in, x, c->n_col * sizeof(float));
		for (int k = 0; k < CONV_BLOCK; k++)
			sum[k] += w[k] * in[k];
	}
	cpu_act_row(c->r->dev->fl, c->op->act, c->op->p, sum, NULL, sum, c->n_col);
	memcpy(host_mem_el(&c->y, c->first + i, 0, c->col0), sum, c->n_col * sizeof(float));
}

void conv_columns(const struct cpu_run *r, const struct lmd_op_conv *op, const float *w_t,
		  const struct cpu_part *p)
{
	struct columns c = {
		.r = r,
		.op = op,
		.w = r->compiled_plan->host_mem.weights[op->w],
		.w_t = w_t,
		.cache =
			op->cache == LMD_NONE ? NULL : r->compiled_plan->host_mem.caches[op->cache],
		.x = host_mem_view(&r->host_mem, &op->x),
		.y = host_mem_view(&r->host_mem, &op->y),
		.history = (block *)(void *)p->host_mem.scratch,
	};
	uint32_t blocks = (c.x.width + CONV_BLOCK - 1) / CONV_BLOCK;
	uint64_t lo, hi;

	c.dk = c.cache ? c.cache->desc.dk : 0;
	host_mem_slice(&p->host_mem, (uint64_t)r->host_mem.step->head->n_seq * blocks, &lo, &hi);
	for (uint64_t at = lo; at < hi; at++) {
		c.seq = (uint32_t)(at / blocks);
		c.col0 = (uint32_t)(at % blocks) * CONV_BLOCK;
		c.n_col = c.x.width - c.col0 < CONV_BLOCK ? c.x.width - c.col0 : CONV_BLOCK;
		host_mem_seq_rows(&r->host_mem, c.y.space, c.seq, &c.first, &c.n_row);
		load(&c);
		for (uint32_t i = 0; i < c.n_row; i++) {
			one_row(&c, i);
			store(&c, i);
		}
	}
}
