/* SPDX-License-Identifier: MIT
 *
 * CONV: along time within each sequence, or over a map. */
#include <string.h>

#include "backend/common/act.h"
#include "ops.h"
#include "backend/common/conv.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_conv *o = &op->u.conv;
	enum lmd_status st = host_mem_need_cache(&b->compiled_plan->host_mem, o->cache, err);

	if (st == LMD_OK && o->kind == LMD_CONV_DEPTHWISE)
		st = host_mem_flatten(&b->host_mem, o->w, err);
	if (o->kind == LMD_CONV_POOL)
		b->compiled_plan->group_write[o->group] = true;
	if (st == LMD_OK && o->cache != LMD_NONE)
		host_mem_conv_need(&b->host_mem.part_bytes,
				   b->compiled_plan->host_mem.caches[o->cache]);
	return st;
}

static void load(const struct ref_run *r, const struct host_mem_conv *c)
{
	int32_t slot = host_mem_conv_slot_in(c);
	size_t n;

	if (!c->cache)
		return;
	n = c->cache->k_cols;
	memset(c->history, 0, c->cache->desc.dk * n * sizeof(float));
	for (uint32_t j = 0; slot >= 0 && j < c->cache->desc.dk; j++)
		ref_cache_read(r->dev, c->cache->desc.k_dtype,
			       host_mem_state_row(c->pool, c->cache, slot, j), c->history + j * n,
			       c->cache->k_cols);
}

/* Stores the dk rows that end with row i in the slot of row i. */
static void store(const struct ref_run *r, const struct host_mem_conv *c, uint32_t i)
{
	int32_t slot = host_mem_conv_slot_out(c, i);

	for (uint32_t j = 0; slot >= 0 && j < c->cache->desc.dk; j++)
		ref_cache_encode(r->dev, c->cache->desc.k_dtype, host_mem_conv_state_row(c, i, j),
				 host_mem_state_row(c->pool, c->cache, slot, j), c->cache->k_cols);
}

static float depthwise(const struct host_mem_conv *c, uint32_t i, uint32_t col)
{
	const struct lmd_op_conv *o = c->op;
	const float *w = c->w->flat + (size_t)col * o->kernel;
	float sum = host_mem_weight_bias(c->w, 0, col);

	for (uint32_t j = 0; j < o->kernel; j++)
		sum += w[j] *
		       host_mem_conv_at(c, (int64_t)i - o->left + (int64_t)j * o->dilation, col);
	return host_mem_act(o->act, o->p, sum, 0, false);
}

/* Convolution over the sequence's map, whose positions are its rows, line by line. */
static float on_map(const struct host_mem_conv *c, uint32_t width, uint32_t height, uint32_t i,
		    uint32_t col)
{
	const struct lmd_op_conv *o = c->op;
	const float *w = c->w->flat + (size_t)col * o->kernel * o->kernel;
	float sum = host_mem_weight_bias(c->w, 0, col);

	for (uint32_t a = 0; a < o->kernel; a++) {
		int64_t line = (int64_t)(i / width) - o->left + (int64_t)a * o->dilation;

		for (uint32_t b = 0; b < o->kernel; b++) {
			int64_t place = (int64_t)(i % width) - o->left + (int64_t)b * o->dilation;

			if (line >= 0 && line < height && place >= 0 && place < width)
				sum += w[a * o->kernel + b] *
				       host_mem_conv_at(c, line * width + place, col);
		}
	}
	return host_mem_act(o->act, o->p, sum, 0, false);
}

/* Mean, or sum weighted by softmax(score), over the block that ends at row i. */
static float pooled(const struct host_mem_conv *c, uint32_t i, uint32_t col)
{
	const struct lmd_op_conv *o = c->op;
	uint32_t width = host_mem_cols(&c->y);
	int64_t r = o->n, pos = c->r->step->pos[0][c->first + i], from = o->overlap ? 2 * r : r;
	double sum = 0, total = 0;
	float max = -INFINITY;

	for (int pass = c->score.base ? 0 : 1; pass < 2; pass++) {
		for (int64_t back = from - 1; back >= 0; back--) {
			uint32_t shift = o->overlap && back < r ? width : 0;
			float s = c->score.base
					  ? host_mem_conv_at(c, i - back, c->cols + shift + col)
					  : 0;
			double w;

			if (back > pos)
				continue;
			if (!pass) {
				max = fmaxf(max, s);
				continue;
			}
			w = c->score.base ? (double)expf(s - max) : 1.0;
			total += w;
			sum += w * (double)host_mem_conv_at(c, i - back, shift + col);
		}
	}
	return total > 0 ? (float)(sum / total) : 0;
}

static void one_row(const struct host_mem_conv *c, uint32_t i)
{
	const struct lmd_op_conv *o = c->op;
	uint32_t size[2];

	host_mem_conv_map(c, size);
	for (uint32_t col = 0; col < host_mem_cols(&c->y); col++) {
		float v = 0;

		switch ((enum lmd_conv)o->kind) {
		case LMD_CONV_DEPTHWISE:
			v = o->map ? on_map(c, size[0], size[1], i, col) : depthwise(c, i, col);
			break;
		case LMD_CONV_SHIFT:
			v = host_mem_conv_at(c, (int64_t)i - o->n, col);
			break;
		case LMD_CONV_POOL:
			if (c->r->step->group[o->group].slot[c->first + i] >= 0)
				v = pooled(c, i, col);
			break;
		}
		*(float *)host_mem_cell(&c->y, c->first + i, col) = v;
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	char *scratch = p->scratch;
	struct host_mem_conv c = host_mem_conv_take(&scratch, &r->host_mem,
						    &r->compiled_plan->host_mem, &op->u.conv);
	uint64_t lo, hi;

	host_mem_slice(p, r->host_mem.step->head->n_seq, &lo, &hi);
	for (c.seq = (uint32_t)lo; c.seq < hi; c.seq++) {
		host_mem_seq_rows(&r->host_mem, c.y.space, c.seq, &c.first, &c.n);
		load(r, &c);
		for (uint32_t i = 0; i < c.n; i++) {
			one_row(&c, i);
			store(r, &c, i);
		}
	}
}

const struct ref_op ref_op_conv = {
	.plan = plan,
	.run = run,
};
