/* SPDX-License-Identifier: MIT
 *
 * SOFTMAX of each (row, head), or Sinkhorn's iteration on the matrix that a row's heads form. */
#include "backend/common/view.h"

static enum lmd_status plan(struct host_mem_build *b, const struct lmd_op *op,
			    struct lmd_error *err)
{
	const struct lmd_operand *x = &op->u.softmax.x;

	(void)err;
	host_mem_need(&b->part_bytes, (uint64_t)x->width * x->n_head, sizeof(float));
	return LMD_OK;
}

/* Replaces x by softmax(scale * x), or by zeros if all elements are minus infinity. */
static void softmax(float *x, uint32_t n, float scale)
{
	float max = -INFINITY;
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		x[i] *= scale;
		max = fmaxf(max, x[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		x[i] = max == -INFINITY ? 0.0f : expf(x[i] - max);
		sum += (double)x[i];
	}
	for (uint32_t i = 0; i < n && sum > 0; i++)
		x[i] = (float)(x[i] / sum);
}

/* Divides `n` numbers, `step` elements apart, by (their sum + eps). */
static void normalise(float *x, uint32_t n, uint32_t step, float eps)
{
	float sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += x[(size_t)i * step];
	for (uint32_t i = 0; i < n; i++)
		x[(size_t)i * step] /= sum + eps;
}

static void sinkhorn(float *m, uint32_t rows, uint32_t cols, const struct lmd_op_softmax *o)
{
	for (uint32_t i = 0; i < rows * cols; i++)
		m[i] += o->eps;
	for (uint32_t c = 0; c < cols; c++)
		normalise(m + c, rows, cols, o->eps);
	for (uint32_t n = 1; n < o->sinkhorn; n++) {
		for (uint32_t i = 0; i < rows; i++)
			normalise(m + (size_t)i * cols, cols, 1, o->eps);
		for (uint32_t c = 0; c < cols; c++)
			normalise(m + c, rows, cols, o->eps);
	}
}

static void run(const struct host_mem_run *r, const struct lmd_op *op,
		const struct host_mem_part *p)
{
	const struct lmd_op_softmax *o = &op->u.softmax;
	struct host_mem_view x = host_mem_view(r, &o->x), y = host_mem_view(r, &o->y);
	float *m = (float *)(void *)p->scratch;
	uint64_t lo, hi;

	host_mem_slice(p, y.n_row, &lo, &hi);
	for (uint32_t row = (uint32_t)lo; row < hi; row++) {
		for (uint32_t h = 0; h < x.n_head; h++) {
			for (uint32_t c = 0; c < x.width; c++)
				m[(size_t)h * x.width + c] = host_mem_get(&x, row, h, c);
			softmax(m + (size_t)h * x.width, x.width, o->scale);
		}
		if (o->sinkhorn)
			sinkhorn(m, x.n_head, x.width, o);
		for (uint32_t h = 0; h < x.n_head; h++) {
			for (uint32_t c = 0; c < x.width; c++)
				host_mem_put(&y, row, h, c, m[(size_t)h * x.width + c]);
		}
	}
}

const struct host_mem_op host_mem_op_softmax = {
	.plan = plan,
	.run = run,
};
