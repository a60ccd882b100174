/* SPDX-License-Identifier: MIT
 *
 * NORM: residual sum and norm, over one row or over all rows of a sequence. */
#include <string.h>

#include "norm.h"
#include "ops.h"
#include "backend/common/view.h"
#include "cpu.h"

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)err;
	for (int i = 0; i < 3; i++)
		host_mem_need(&b->host_mem.part_bytes, op->u.norm.x.width, sizeof(float));
	host_mem_need(&b->host_mem.part_bytes, op->u.norm.x.width, 2 * sizeof(float));
	return LMD_OK;
}

struct work {
	const struct cpu_run *r;
	const struct lmd_op_norm *op;
	struct host_mem_view x, res, h, y, stat;
	struct cpu_norm norm;
	float *tx, *th, *ty, *ts;
};

/* Computes h = x + a*r of one (row, head) and stores it if wanted. */
static const float *sum(const struct work *w, uint32_t row, uint32_t head)
{
	const float *x = host_mem_f32(&w->x, row, head, w->tx), *res;
	float *h;

	if (!w->res.base && !w->h.base)
		return x;
	h = w->h.base ? host_mem_at(&w->h, row, head, w->th) : w->th;
	if (w->res.base) {
		res = host_mem_f32(&w->res, row, head, w->ty);
		for (uint32_t c = 0; c < w->x.width; c++)
			h[c] = x[c] + w->op->a * res[c];
	} else {
		memcpy(h, x, w->x.width * sizeof(*h));
	}
	if (w->h.base)
		host_mem_commit(&w->h, row, head, h, w->th);
	return h;
}

static void one_row(const struct work *w, uint32_t row, uint32_t head)
{
	const float *x = sum(w, row, head);
	uint32_t size = w->norm.n->n ? w->norm.n->n : w->x.width;
	uint32_t groups = (w->x.width + size - 1) / size;
	float *y = host_mem_at(&w->y, row, head, w->ty);

	cpu_norm_row(w->r, &w->norm, row, head, x, y, w->x.width, w->stat.base ? w->ts : NULL);
	host_mem_commit(&w->y, row, head, y, w->ty);
	for (uint32_t c = 0; w->stat.base && c < 2 * groups; c++)
		*(float *)host_mem_cell(&w->stat, row, c + 2 * (size_t)head * groups) = w->ts[c];
}

/* Norms columns [at, at + n) of rows [first, first + rows), which share mean and deviation.  Sums
 * over many rows are accumulated in double. */
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
	cpu_norm_stat(w->norm.n, (float)mean, (float)sq, (uint64_t)rows * n, stat);
	for (uint32_t i = 0; i < rows; i++) {
		const float *x = sum(w, first + i, 0);

		cpu_norm_scale(w->r, &w->norm, first + i, 0, at, n, x + at, w->ty, stat);
		for (uint32_t c = 0; c < n; c++)
			host_mem_put(&w->y, first + i, 0, at + c, w->ty[c]);
		if (w->stat.base) {
			*(float *)host_mem_cell(&w->stat, first + i, 2 * (size_t)group) = stat[0];
			*(float *)host_mem_cell(&w->stat, first + i, 2 * (size_t)group + 1) =
				stat[1];
		}
	}
}

static bool little(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	struct host_mem_view y = host_mem_view(&r->host_mem, &n->op->u.norm.y);

	(void)phase;
	return (uint64_t)y.n_row * host_mem_cols(&y) <= CPU_SMALL_PHASE;
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_norm *op = &n->op->u.norm;
	struct work w = {
		.r = r,
		.op = op,
		.x = host_mem_view(&r->host_mem, &op->x),
		.res = host_mem_view(&r->host_mem, &op->r),
		.h = host_mem_view(&r->host_mem, &op->h),
		.y = host_mem_view(&r->host_mem, &op->y),
		.stat = host_mem_view(&r->host_mem, &op->stat),
		.norm = cpu_norm(r, &op->norm),
	};
	uint32_t size = w.norm.n->n ? w.norm.n->n : w.x.width;
	char *scratch = p->host_mem.scratch;
	uint64_t lo, hi;

	w.tx = host_mem_take(&scratch, w.x.width, sizeof(float));
	w.th = host_mem_take(&scratch, w.x.width, sizeof(float));
	w.ty = host_mem_take(&scratch, w.x.width, sizeof(float));
	w.ts = host_mem_take(&scratch, w.x.width, 2 * sizeof(float));
	if (!op->over_rows) {
		host_mem_slice(&p->host_mem, (uint64_t)w.y.n_row * w.x.n_head, &lo, &hi);
		for (uint64_t i = lo; i < hi; i++)
			one_row(&w, (uint32_t)(i / w.x.n_head), (uint32_t)(i % w.x.n_head));
		return;
	}
	host_mem_slice(&p->host_mem, r->host_mem.step->head->n_seq, &lo, &hi);
	for (uint32_t s = (uint32_t)lo; s < hi; s++) {
		uint32_t first, rows;

		host_mem_seq_rows(&r->host_mem, w.y.space, s, &first, &rows);
		for (uint32_t at = 0; rows && at < w.x.width; at += size)
			over_rows(&w, first, rows, at,
				  w.x.width - at < size ? w.x.width - at : size, at / size);
	}
}

const struct cpu_op cpu_op_norm = {
	.plan = plan,
	.little = little,
	.run = run,
};
