/* SPDX-License-Identifier: MIT
 *
 * NORM: residual sum and norm, over one row or over all rows of a sequence. */
#include <string.h>

#include "norm.h"
#include "ops.h"
#include "backend/common/view.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)err;
	for (int i = 0; i < 4; i++)
		host_mem_need(&b->host_mem.part_bytes, op->u.norm.x.width, sizeof(float));
	return LMD_OK;
}

struct work {
	const struct lmd_op_norm *op;
	struct host_mem_view x, r, h, y, stat;
	struct ref_norm norm;
	float *tx, *tr, *ty, *ts;
};

/* Computes h = x + a*r of one (row, head) and stores it if wanted. */
static const float *sum(const struct work *w, uint32_t row, uint32_t head)
{
	const float *x = host_mem_f32(&w->x, row, head, w->tx), *res;
	void *h;

	if (w->r.base) {
		res = host_mem_f32(&w->r, row, head, w->tr);
		for (uint32_t c = 0; c < w->x.width; c++)
			w->tx[c] = x[c] + w->op->a * res[c];
		x = w->tx;
	}
	if (w->h.base) {
		h = host_mem_at(&w->h, row, head, w->tr);
		if (h != x)
			memmove(h, x, w->x.width * sizeof(float));
		host_mem_commit(&w->h, row, head, h, w->tr);
	}
	return x;
}

static void one_row(const struct work *w, uint32_t row, uint32_t head)
{
	const float *x = sum(w, row, head);
	uint32_t size = w->norm.n->n ? w->norm.n->n : w->x.width;
	uint32_t groups = (w->x.width + size - 1) / size;
	float *y = host_mem_at(&w->y, row, head, w->ty);

	ref_norm_row(&w->norm, row, head, x, y, w->x.width, w->stat.base ? w->ts : NULL);
	host_mem_commit(&w->y, row, head, y, w->ty);
	for (uint32_t c = 0; w->stat.base && c < 2 * groups; c++)
		*(float *)host_mem_cell(&w->stat, row, c + 2 * (size_t)head * groups) = w->ts[c];
}

/* Norms columns [at, at + n) of rows [first, first + rows), which share mean and deviation. */
static void over_rows(const struct work *w, uint32_t first, uint32_t rows, uint32_t at, uint32_t n,
		      uint32_t group)
{
	double s = 0, sq = 0, mean = 0;
	float stat[2];

	for (uint32_t i = 0; w->norm.n->kind == LMD_NORM_LAYER && i < rows; i++) {
		const float *x = sum(w, first + i, 0);

		for (uint32_t c = 0; c < n; c++)
			s += (double)x[at + c];
	}
	mean = s / ((double)rows * n);
	for (uint32_t i = 0; i < rows; i++) {
		const float *x = sum(w, first + i, 0);

		for (uint32_t c = 0; c < n; c++)
			sq += ((double)x[at + c] - mean) * ((double)x[at + c] - mean);
	}
	ref_norm_stat(w->norm.n, s, sq, (uint64_t)rows * n, stat);
	for (uint32_t i = 0; i < rows; i++) {
		const float *x = sum(w, first + i, 0);

		ref_norm_scale(&w->norm, first + i, 0, at, n, x + at, w->ty, stat);
		for (uint32_t c = 0; c < n; c++)
			host_mem_put(&w->y, first + i, 0, at + c, w->ty[c]);
		if (w->stat.base) {
			*(float *)host_mem_cell(&w->stat, first + i, 2 * (size_t)group) = stat[0];
			*(float *)host_mem_cell(&w->stat, first + i, 2 * (size_t)group + 1) =
				stat[1];
		}
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	struct work w = {
		.op = &op->u.norm,
		.x = host_mem_view(&r->host_mem, &op->u.norm.x),
		.r = host_mem_view(&r->host_mem, &op->u.norm.r),
		.h = host_mem_view(&r->host_mem, &op->u.norm.h),
		.y = host_mem_view(&r->host_mem, &op->u.norm.y),
		.stat = host_mem_view(&r->host_mem, &op->u.norm.stat),
		.norm = ref_norm(r, &op->u.norm.norm),
	};
	uint32_t size = w.norm.n->n ? w.norm.n->n : w.x.width,
		 groups = (w.x.width + size - 1) / size;
	char *scratch = p->scratch;
	uint64_t lo, hi;

	w.tx = host_mem_take(&scratch, w.x.width, sizeof(float));
	w.tr = host_mem_take(&scratch, w.x.width, sizeof(float));
	w.ty = host_mem_take(&scratch, w.x.width, sizeof(float));
	w.ts = host_mem_take(&scratch, w.x.width, 2 * sizeof(float));
	if (!w.op->over_rows) {
		host_mem_slice(p, (uint64_t)w.y.n_row * w.x.n_head, &lo, &hi);
		for (uint64_t i = lo; i < hi; i++)
			one_row(&w, (uint32_t)(i / w.x.n_head), (uint32_t)(i % w.x.n_head));
		return;
	}
	host_mem_slice(p, r->host_mem.step->head->n_seq, &lo, &hi);
	for (uint32_t s = (uint32_t)lo; s < hi; s++) {
		uint32_t first, rows;

		host_mem_seq_rows(&r->host_mem, w.y.space, s, &first, &rows);
		for (uint32_t g = 0; rows && g < groups; g++)
			over_rows(&w, first, rows, g * size,
				  w.x.width - g * size < size ? w.x.width - g * size : size, g);
	}
}

const struct ref_op ref_op_norm = {
	.plan = plan,
	.run = run,
};
