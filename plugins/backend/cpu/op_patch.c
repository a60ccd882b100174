/* SPDX-License-Identifier: MIT
 *
 * PATCH: windows of a sequence or a map, times a matrix.  Phase 0 writes the windows down as rows,
 * phase 1 multiplies them. */
#include "ops.h"
#include "product.h"

struct patch {
	const struct cpu_run *r;
	const struct lmd_op_patch *op;
	const struct lmd_weight *w;
	struct hm_view x, y;
	uint32_t space; /* of x */
	uint32_t cols;  /* C */
	struct cpu_x px;
};

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_patch *o = &op->u.patch;
	const struct lmd_weight *w = b->cplan->hm.weights[o->w];
	uint64_t rows = hm_max_rows(b->hm.plan, &o->y) / o->y.n_head;

	(void)err;
	b->hm.n_phase = 2;
	cpu_x_need(&b->hm.shared_bytes, rows, w->k, false);
	cpu_product_need(b, &b->hm.part_bytes, w, rows);
	return LMD_OK;
}

/* Width and height of a sequence's map; without one it is a single column. */
static void map_of(const struct patch *p, uint32_t seq, uint32_t rows, uint32_t size[2])
{
	uint32_t k = p->space - LMD_SPACE_X0;
	bool map = p->op->n_dim == 2 && p->space >= LMD_SPACE_X0 && p->space <= LMD_SPACE_X5 &&
		   p->r->hm.step->x_w[k] && p->r->hm.step->x_h[k];

	size[0] = map ? (uint32_t)p->r->hm.step->x_w[k][seq] : rows;
	size[1] = map ? (uint32_t)p->r->hm.step->x_h[k][seq] : 1;
}

/* Number of windows along an axis of n. */
static uint32_t windows(const struct lmd_op_patch *o, int axis, uint32_t n)
{
	int64_t room = (int64_t)n + 2 * (int64_t)o->pad[axis] -
		       (int64_t)o->dilation[axis] * (o->kernel[axis] - 1) - 1;

	return room < 0 ? 0 : (uint32_t)(room / o->stride[axis]) + 1;
}

/* Column c of the row of x at (i0, i1) of a map; 0 outside. */
static float at(const struct patch *p, uint32_t first, const uint32_t size[2], int64_t i0,
		int64_t i1, uint32_t c)
{
	uint64_t row;

	if (i0 < 0 || i1 < 0 || i0 >= size[0] || i1 >= size[1])
		return 0;
	row = first + (uint64_t)i1 * size[0] + (uint64_t)i0;
	return row < p->x.n_row ? hm_cell_get(&p->x, (uint32_t)row, c) : 0;
}

/* The window of row `row` of y; zeros for rows beyond the last window. */
static void flatten(const struct patch *p, uint32_t row)
{
	const struct lmd_op_patch *o = p->op;
	uint32_t seq = hm_seq_of(&p->r->hm, p->y.space, row), yfirst, yrows, first, rows, size[2],
		 n0;
	uint32_t k0 = o->kernel[0], k1 = o->n_dim == 2 ? o->kernel[1] : 1;
	float *out = p->px.f + (size_t)row * p->w->k;
	int64_t o0, o1;

	hm_seq_rows(&p->r->hm, p->y.space, seq, &yfirst, &yrows);
	hm_seq_rows(&p->r->hm, p->space, seq, &first, &rows);
	map_of(p, seq, rows, size);
	n0 = windows(o, 0, size[0]);
	o0 = n0 ? (row - yfirst) % n0 : 0;
	o1 = n0 ? (row - yfirst) / n0 : 0;
	for (uint32_t c = 0; c < p->cols; c++) {
		for (uint32_t j1 = 0; j1 < k1; j1++) {
			int64_t i1 = o->n_dim == 2 ? o1 * o->stride[1] - o->pad[1] +
							     (int64_t)j1 * o->dilation[1]
						   : o1;

			for (uint32_t j0 = 0; j0 < k0; j0++) {
				int64_t i0 = o0 * o->stride[0] - o->pad[0] +
					     (int64_t)j0 * o->dilation[0];

				out[((size_t)c * k1 + j1) * k0 + j0] =
					n0 ? at(p, first, size, i0, i1, c) : 0;
			}
		}
	}
	cpu_x_own(p->r, &p->px, row);
}

static void done(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct patch *p = arg;

	for (uint32_t i = 0; i < n; i++)
		*(float *)hm_cell(&p->y, item, n0 + i) =
			hm_weight_scale(p->w, slice, n0 + i) * v[i] +
			hm_weight_bias(p->w, slice, n0 + i);
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *part)
{
	const struct lmd_op_patch *o = &n->op->u.patch;
	struct patch p = {
		.r = r,
		.op = o,
		.w = r->cplan->hm.weights[o->w],
		.x = hm_view(&r->hm, &o->x),
		.y = hm_view(&r->hm, &o->y),
		.space = o->x.src == LMD_SRC_INPUT ? o->x_space : r->hm.plan->values[o->x.id].space,
	};
	const struct cpu_emit emit = {&p, NULL, done};
	struct cpu_items items = {.count = p.y.n_row, .div = 1};
	uint32_t chunk = cpu_grid(part->hm.part, part->hm.n_part, 1, p.w->n).chunk;
	char *cursor = r->hm.shared;
	uint64_t lo, hi;

	p.cols = hm_cols(&p.x);
	p.px = cpu_x_take(&cursor, p.y.n_row, p.w->k, false);
	if (part->hm.phase == 0) {
		hm_slice(&part->hm, p.y.n_row, &lo, &hi);
		for (uint64_t row = lo; row < hi; row++)
			flatten(&p, (uint32_t)row);
		return;
	}
	for (uint64_t c = cpu_claim(part); c * chunk < p.w->n; c = cpu_claim(part)) {
		uint32_t from = (uint32_t)c * chunk;
		struct cpu_rows rows = {0, from, p.w->n - from < chunk ? p.w->n : from + chunk,
					NULL};

		cpu_product_f32(r, &p.px, &items, p.w, &rows, part->hm.scratch, &emit);
	}
}

const struct cpu_op cpu_op_patch = {
	.plan = plan,
	.run = run,
};
