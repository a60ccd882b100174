/* SPDX-License-Identifier: MIT
 *
 * BMM: each head times its own matrix.  Phase 0 prepares the rows of x, phase 1 multiplies. */
#include "ops.h"
#include "product.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)err;
	b->host_mem.n_phase = 2;
	ref_x_need(b, host_mem_max_rows(b->host_mem.plan, &op->u.bmm.x), op->u.bmm.x.width);
	ref_product_need(b, b->compiled_plan->host_mem.weights[op->u.bmm.w]);
	return LMD_OK;
}

struct out {
	const struct lmd_weight *w;
	struct host_mem_view y;
	uint32_t n_row;
};

/* Items are numbered by head, then row. */
static void emit(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct out *o = arg;
	uint32_t head = item / o->n_row;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = (n0 + i) % o->w->n;

		host_mem_put(&o->y, item % o->n_row, head, c,
			     host_mem_weight_scale(o->w, head, c) * v[i] +
				     host_mem_weight_bias(o->w, head, c));
	}
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	struct host_mem_view x = host_mem_view(&r->host_mem, &op->u.bmm.x);
	struct out o = {r->compiled_plan->host_mem.weights[op->u.bmm.w],
			host_mem_view(&r->host_mem, &op->u.bmm.y), x.n_row};
	uint64_t n = (uint64_t)x.n_row * x.n_head, lo, hi;
	char *cursor = r->host_mem.shared;
	struct ref_x px = ref_x_take(r, &cursor, n, x.width);

	px.q = NULL; /* always in float */
	if (p->phase == 0) {
		host_mem_slice(p, n, &lo, &hi);
		for (uint64_t i = lo; i < hi; i++)
			ref_x_set(&px, i, &x, (uint32_t)(i % x.n_row), (uint32_t)(i / x.n_row),
				  NULL);
		return;
	}
	ref_tiles(p, o.w->n, &lo, &hi);
	for (uint32_t h = 0; h < x.n_head; h++) {
		struct ref_items items = {.first = h * x.n_row, .count = x.n_row, .div = 1};
		uint64_t first = (uint64_t)h * o.w->n;

		ref_product(r, &px, &items, o.w, first + lo, first + hi, p->scratch, emit, &o);
	}
}

const struct ref_op ref_op_bmm = {
	.plan = plan,
	.run = run,
};
