/* SPDX-License-Identifier: MIT
 *
 * BMM: each head times its own matrix, in float.  Phase 0 prepares the rows of x, phase 1
 * multiplies.  Items are numbered by head, then row. */
#include "ops.h"
#include "product.h"

struct out {
	const struct lmd_weight *w;
	struct host_mem_view y;
	uint32_t n_row;
};

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_bmm *o = &op->u.bmm;

	(void)err;
	b->host_mem.n_phase = 2;
	cpu_x_need(&b->host_mem.shared_bytes, host_mem_max_rows(b->host_mem.plan, &o->x),
		   o->x.width, (struct cpu_forms){0});
	cpu_product_need(b, &b->host_mem.part_bytes, b->compiled_plan->host_mem.weights[o->w],
			 host_mem_max_rows(b->host_mem.plan, &o->x) / o->x.n_head);
	return LMD_OK;
}

static void done(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct out *o = arg;

	for (uint32_t i = 0; i < n; i++)
		host_mem_put(&o->y, item % o->n_row, slice, n0 + i,
			     host_mem_weight_scale(o->w, slice, n0 + i) * v[i] +
				     host_mem_weight_bias(o->w, slice, n0 + i));
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_bmm *o = &n->op->u.bmm;
	struct host_mem_view x = host_mem_view(&r->host_mem, &o->x);
	struct out out = {r->compiled_plan->host_mem.weights[o->w],
			  host_mem_view(&r->host_mem, &o->y), x.n_row};
	const struct cpu_emit emit = {&out, NULL, done};
	uint64_t n_x = (uint64_t)x.n_row * x.n_head, lo, hi;
	uint32_t chunk =
		cpu_grid(p->host_mem.part, p->host_mem.n_part, 1, (uint64_t)out.w->n * x.n_head)
			.chunk;
	uint32_t per_head = (out.w->n + chunk - 1) / chunk;
	char *cursor = r->host_mem.shared;
	struct cpu_x px = cpu_x_take(&cursor, n_x, x.width, (struct cpu_forms){0});

	if (p->host_mem.phase == 0) {
		host_mem_slice(&p->host_mem, n_x, &lo, &hi);
		for (uint64_t i = lo; i < hi; i++)
			cpu_x_set(r, &px, i, &x, (uint32_t)(i % x.n_row), (uint32_t)(i / x.n_row),
				  NULL);
		return;
	}
	for (uint64_t c = cpu_claim(p); c < (uint64_t)per_head * x.n_head; c = cpu_claim(p)) {
		uint32_t head = (uint32_t)(c / per_head), from = (uint32_t)(c % per_head) * chunk;
		struct cpu_items items = {.first = head * x.n_row, .count = x.n_row, .div = 1};
		struct cpu_rows rows = {head, from,
					out.w->n - from < chunk ? out.w->n : from + chunk, NULL};

		cpu_product_f32(r, &px, &items, out.w, &rows, p->host_mem.scratch, &emit);
	}
}

const struct cpu_op cpu_op_bmm = {
	.plan = plan,
	.run = run,
};
