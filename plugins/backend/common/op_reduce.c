/* SPDX-License-Identifier: MIT
 *
 * REDUCE: over the rows of a sequence, over blocks of rows, or along a row. */
#include <string.h>

#include "backend/common/view.h"

/* Accumulator for the mean, sum, maximum, first or last of a series of numbers. */
struct fold {
	uint32_t kind;
	uint32_t n;
	double sum;
	float max, first, last;
};

static void fold_add(struct fold *f, float x)
{
	if (!f->n++) {
		f->first = x;
		f->max = x;
	}
	f->last = x;
	f->max = fmaxf(f->max, x);
	f->sum += (double)x;
}

/* The result; 0 if no number was added. */
static float fold_end(const struct fold *f)
{
	if (!f->n)
		return 0;
	switch (f->kind) {
	case LMD_REDUCE_MEAN:
		return (float)(f->sum / f->n);
	case LMD_REDUCE_SUM:
		return (float)f->sum;
	case LMD_REDUCE_MAX:
		return f->max;
	case LMD_REDUCE_FIRST:
		return f->first;
	default:
		return f->last;
	}
}

struct work {
	const struct host_mem_run *r;
	const struct lmd_op_reduce *op;
	struct host_mem_view x, y, y2;
	bool *taken; /* [width], for TOP_K */
};

static enum lmd_status plan(struct host_mem_build *b, const struct lmd_op *op,
			    struct lmd_error *err)
{
	(void)err;
	host_mem_need(&b->part_bytes, op->u.reduce.x.width, sizeof(bool));
	return LMD_OK;
}

/* Computes row `row` of y from the rows [first, first + n) of x. */
static void over_rows(const struct work *w, uint32_t row, uint32_t first, uint32_t n)
{
	for (uint32_t h = 0; h < w->y.n_head; h++) {
		for (uint32_t c = 0; c < w->y.width; c++) {
			struct fold f = {.kind = w->op->kind};

			for (uint32_t i = 0; i < n; i++)
				fold_add(&f, host_mem_get(&w->x, first + i, h, c));
			host_mem_put(&w->y, row, h, c, fold_end(&f));
		}
	}
}

static void best(const struct work *w, uint32_t row, uint32_t head, uint32_t n)
{
	memset(w->taken, 0, w->x.width * sizeof(*w->taken));
	for (uint32_t j = 0; j < n; j++) {
		uint32_t at = UINT32_MAX;
		float most = 0;

		for (uint32_t c = 0; c < w->x.width; c++) {
			float x = host_mem_get(&w->x, row, head, c);

			if (!w->taken[c] && (at == UINT32_MAX || x > most)) {
				at = c;
				most = x;
			}
		}
		if (at == UINT32_MAX)
			return;
		w->taken[at] = true;
		host_mem_put_i32(&w->y, row, head, j, (int32_t)at);
		if (w->y2.base)
			host_mem_put(&w->y2, row, head, j, most);
	}
}

static void along_row(const struct work *w, uint32_t row, uint32_t head)
{
	struct fold f = {.kind = w->op->kind};

	if (w->op->kind == LMD_REDUCE_ARGMAX || w->op->kind == LMD_REDUCE_TOP_K) {
		best(w, row, head, w->op->kind == LMD_REDUCE_TOP_K ? w->op->n : 1);
		return;
	}
	for (uint32_t c = 0; c < w->x.width; c++)
		fold_add(&f, host_mem_get(&w->x, row, head, c));
	host_mem_put(&w->y, row, head, 0, fold_end(&f));
}

static void run(const struct host_mem_run *r, const struct lmd_op *op,
		const struct host_mem_part *p)
{
	struct work w = {
		.r = r,
		.op = &op->u.reduce,
		.x = host_mem_view(r, &op->u.reduce.x),
		.y = host_mem_view(r, &op->u.reduce.y),
		.y2 = host_mem_view(r, &op->u.reduce.y2),
		.taken = (bool *)(void *)p->scratch,
	};
	uint64_t lo, hi;

	host_mem_slice(p, w.y.n_row, &lo, &hi);
	for (uint32_t row = (uint32_t)lo; row < hi; row++) {
		uint32_t first, n;

		switch ((enum lmd_axis)w.op->axis) {
		case LMD_AXIS_SEQ:
			host_mem_seq_rows(r, w.x.space, row, &first, &n);
			over_rows(&w, row, first, n);
			break;
		case LMD_AXIS_BLOCK:
			over_rows(&w, row, row * w.op->n, w.op->n);
			break;
		case LMD_AXIS_ROW:
			for (uint32_t h = 0; h < w.y.n_head; h++)
				along_row(&w, row, h);
			break;
		}
	}
}

const struct host_mem_op host_mem_op_reduce = {
	.plan = plan,
	.run = run,
};
