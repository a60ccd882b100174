/* SPDX-License-Identifier: MIT
 *
 * CONV: along time within each sequence, or over a map.
 *
 * Rows are numbered from the sequence's first row of this step; rows before it have negative
 * numbers and come from the state slot, which is decoded before anything is written, because a
 * sequence may read and write the same slot. */
#include "act.h"
#include "conv.h"
#include "ops.h"
#include "backend/common/view.h"
#include "cpu.h"

struct conv {
	const struct cpu_run *r;
	const struct lmd_op_conv *op;
	const struct lmd_weight *w;    /* DEPTHWISE */
	const struct hm_cache *cache; /* or NULL */
	struct hm_view x, score, y;
	uint32_t cols; /* of x */
	/* of one sequence */
	uint32_t seq, first, n;
	float *history; /* [dk][cache columns] */
	float *row;     /* [cache columns] */
};

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_conv *o = &op->u.conv;
	enum lmd_status st = hm_need_cache(&b->cplan->hm, o->cache, err);

	if (st == LMD_OK && o->kind == LMD_CONV_DEPTHWISE)
		st = hm_flatten(&b->hm, o->w, err);
	if (st == LMD_OK && o->cache != LMD_NONE) {
		const struct hm_cache *c = b->cplan->hm.caches[o->cache];

		hm_need(&b->hm.part_bytes, c->desc.dk, c->k_cols * sizeof(float));
		hm_need(&b->hm.part_bytes, c->k_cols, sizeof(float));
		hm_need(&b->hm.part_bytes, c->desc.dk, CONV_BLOCK * sizeof(float));
	}
	if (st == LMD_OK &&
	    conv_has_columns(o, o->cache == LMD_NONE ? NULL : b->cplan->hm.caches[o->cache])) {
		b->node->data = conv_turn(b->dev, b->cplan->hm.weights[o->w], o->kernel);
		if (!b->node->data)
			return lmd_fail(err, LMD_NOMEM, "conv: no memory for a turned weight");
	}
	return st;
}

static const struct lmd_pool *pool(const struct conv *c)
{
	return c->r->cplan->hm.pools[c->cache->desc.group];
}

static void load(struct conv *c)
{
	int32_t slot;

	if (!c->cache)
		return;
	slot = c->r->hm.step->group[c->cache->desc.group].state_in[c->seq];
	memset(c->history, 0, (size_t)c->cache->desc.dk * c->cache->k_cols * sizeof(float));
	for (uint32_t i = 0; slot >= 0 && i < c->cache->desc.dk; i++) {
		float *to = c->history + (size_t)i * c->cache->k_cols;

		cpu_cache_decode(c->r->dev, c->cache->desc.k_dtype,
				 hm_pool_unit(pool(c), (uint32_t)slot) + c->cache->k_off +
					 i * c->cache->k_row,
				 to, c->cache->k_cols);
	}
}

/* Column col of row i; columns from c->cols on are those of score. */
static float at(const struct conv *c, int64_t i, uint32_t col)
{
	if (i >= (int64_t)c->n)
		return 0;
	if (i >= 0)
		return col < c->cols
			       ? hm_cell_get(&c->x, c->first + (uint32_t)i, col)
			       : hm_cell_get(&c->score, c->first + (uint32_t)i, col - c->cols);
	if (!c->cache || -i > (int64_t)c->cache->desc.dk)
		return 0;
	return c->history[(size_t)(c->cache->desc.dk + i) * c->cache->k_cols + col];
}

/* The last dk rows up to row i go to its slot. */
static void store(const struct conv *c, uint32_t i)
{
	int32_t slot =
		c->cache ? c->r->hm.step->group[c->cache->desc.group].state_out[c->first + i] : -1;

	for (uint32_t j = 0; slot >= 0 && j < c->cache->desc.dk; j++) {
		for (uint32_t col = 0; col < c->cache->k_cols; col++)
			c->row[col] = at(c, (int64_t)i + 1 + j - c->cache->desc.dk, col);
		cpu_cache_encode(c->r->dev, c->cache->desc.k_dtype, c->row,
				 hm_pool_unit(pool(c), (uint32_t)slot) + c->cache->k_off +
					 j * c->cache->k_row,
				 c->cache->k_cols);
	}
}

static float depthwise(const struct conv *c, uint32_t i, uint32_t col)
{
	const struct lmd_op_conv *o = c->op;
	const float *w = c->w->flat + (size_t)col * o->kernel;
	float sum = hm_weight_bias(c->w, 0, col);

	for (uint32_t j = 0; j < o->kernel; j++)
		sum += w[j] * at(c, (int64_t)i - o->left + (int64_t)j * o->dilation, col);
	return hm_act(o->act, o->p, sum, 0, false);
}

/* Over the map of the sequence: rows are its places, line by line. */
static float on_map(const struct conv *c, uint32_t width, uint32_t height, uint32_t i, uint32_t col)
{
	const struct lmd_op_conv *o = c->op;
	const float *w = c->w->flat + (size_t)col * o->kernel * o->kernel;
	float sum = hm_weight_bias(c->w, 0, col);

	for (uint32_t a = 0; a < o->kernel; a++) {
		int64_t line = (int64_t)(i / width) - o->left + (int64_t)a * o->dilation;

		for (uint32_t b = 0; b < o->kernel; b++) {
			int64_t place = (int64_t)(i % width) - o->left + (int64_t)b * o->dilation;

			if (line >= 0 && line < height && place >= 0 && place < width)
				sum += w[a * o->kernel + b] * at(c, line * width + place, col);
		}
	}
	return hm_act(o->act, o->p, sum, 0, false);
}

/* Mean or softmax(score)-weighted sum over the block that ends at row i. */
static float pooled(const struct conv *c, uint32_t i, uint32_t col)
{
	const struct lmd_op_conv *o = c->op;
	uint32_t width = hm_cols(&c->y);
	int64_t r = o->n, pos = c->r->hm.step->pos[0][c->first + i], from = o->overlap ? 2 * r : r;
	double sum = 0, total = 0;
	float max = -INFINITY;

	for (int pass = c->score.base ? 0 : 1; pass < 2; pass++) {
		for (int64_t back = from - 1; back >= 0; back--) {
			uint32_t shift = o->overlap && back < r ? width : 0;
			float s = c->score.base ? at(c, i - back, c->cols + shift + col) : 0;
			double w;

			if (back > pos)
				continue;
			if (!pass) {
				max = fmaxf(max, s);
				continue;
			}
			w = c->score.base ? (double)expf(s - max) : 1.0;
			total += w;
			sum += w * (double)at(c, i - back, shift + col);
		}
	}
	return total > 0 ? (float)(sum / total) : 0;
}

static void one_row(const struct conv *c, uint32_t i)
{
	const struct lmd_op_conv *o = c->op;
	uint32_t k = c->y.space - LMD_SPACE_X0;
	bool map = o->map && c->y.space >= LMD_SPACE_X0 && k < LMD_MAX_X && c->r->hm.step->x_w[k];
	uint32_t width = map ? (uint32_t)c->r->hm.step->x_w[k][c->seq] : c->n;
	uint32_t height = map ? (uint32_t)c->r->hm.step->x_h[k][c->seq] : 1;

	for (uint32_t col = 0; col < hm_cols(&c->y); col++) {
		float v = 0;

		switch ((enum lmd_conv)o->kind) {
		case LMD_CONV_DEPTHWISE:
			v = o->map ? on_map(c, width ? width : 1, height, i, col)
				   : depthwise(c, i, col);
			break;
		case LMD_CONV_SHIFT:
			v = at(c, (int64_t)i - o->n, col);
			break;
		case LMD_CONV_POOL:
			if (c->r->hm.step->group[o->group].slot[c->first + i] >= 0)
				v = pooled(c, i, col);
			break;
		}
		*(float *)hm_cell(&c->y, c->first + i, col) = v;
	}
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_conv *o = &n->op->u.conv;
	struct conv c = {
		.r = r,
		.op = o,
		.x = hm_view(&r->hm, &o->x),
		.score = hm_view(&r->hm, &o->score),
		.y = hm_view(&r->hm, &o->y),
		.w = o->kind == LMD_CONV_DEPTHWISE ? r->cplan->hm.weights[o->w] : NULL,
		.cache = o->cache == LMD_NONE ? NULL : r->cplan->hm.caches[o->cache],
	};
	char *scratch = p->hm.scratch;
	uint64_t lo, hi;

	if (n->data) {
		conv_columns(r, o, n->data, p);
		return;
	}
	c.cols = hm_cols(&c.x);
	if (c.cache) {
		c.history = hm_take(&scratch, c.cache->desc.dk, c.cache->k_cols * sizeof(float));
		c.row = hm_take(&scratch, c.cache->k_cols, sizeof(float));
	}
	/* with a state rows follow each other */
	hm_slice(&p->hm, c.cache ? r->hm.step->n_seq : c.y.n_row, &lo, &hi);
	for (uint64_t at = lo; at < hi; at++) {
		c.seq = c.cache ? (uint32_t)at : hm_seq_of(&r->hm, c.y.space, (uint32_t)at);
		hm_seq_rows(&r->hm, c.y.space, c.seq, &c.first, &c.n);
		if (!c.cache) {
			one_row(&c, (uint32_t)at - c.first);
			continue;
		}
		load(&c);
		for (uint32_t i = 0; i < c.n; i++) {
			one_row(&c, i);
			store(&c, i);
		}
	}
}

const struct cpu_op cpu_op_conv = {
	.plan = plan,
	.run = run,
};
