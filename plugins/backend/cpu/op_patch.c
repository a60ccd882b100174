/* SPDX-License-Identifier: MIT
 *
 * PATCH: windows of a sequence or a map, times a matrix.  Phase 0 copies the windows into rows,
 * phase 1 multiplies them. */
#include "backend/common/patch.h"
#include "ops.h"
#include "product.h"

struct patch {
	const struct lmd_weight *w;
	struct host_mem_patch in;
	struct cpu_x px;
};

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_patch *o = &op->u.patch;
	const struct lmd_weight *w = b->compiled_plan->host_mem.weights[o->w];
	uint64_t rows = host_mem_max_rows(b->host_mem.plan, &o->y) / o->y.n_head;

	(void)err;
	b->host_mem.n_phase = 2;
	cpu_x_need(&b->host_mem.shared_bytes, rows, w->k, (struct cpu_forms){0});
	cpu_product_need(b, &b->host_mem.part_bytes, w, rows);
	return LMD_OK;
}

static void done(void *arg, uint32_t item, uint32_t slice, uint32_t n0, uint32_t n, float *v)
{
	const struct patch *p = arg;

	for (uint32_t i = 0; i < n; i++)
		*(float *)host_mem_cell(&p->in.y, item, n0 + i) =
			host_mem_weight_scale(p->w, slice, n0 + i) * v[i] +
			host_mem_weight_bias(p->w, slice, n0 + i);
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *part)
{
	const struct lmd_op_patch *o = &n->op->u.patch;
	struct patch p = {.w = r->compiled_plan->host_mem.weights[o->w],
			  .in = host_mem_patch(&r->host_mem, o)};
	const struct cpu_emit emit = {&p, NULL, done};
	struct cpu_items items = {.count = p.in.y.n_row, .div = 1};
	uint32_t chunk = cpu_grid(part->host_mem.part, part->host_mem.n_part, 1, p.w->n).chunk;
	char *cursor = r->host_mem.shared;
	uint64_t lo, hi;

	p.px = cpu_x_take(&cursor, p.in.y.n_row, p.w->k, (struct cpu_forms){0});
	if (part->host_mem.phase == 0) {
		host_mem_slice(&part->host_mem, p.in.y.n_row, &lo, &hi);
		for (uint64_t row = lo; row < hi; row++) {
			host_mem_patch_window(&p.in, (uint32_t)row, p.px.f + row * p.w->k);
			cpu_x_own(r, &p.px, row);
		}
		return;
	}
	for (uint64_t c = cpu_claim(part); c * chunk < p.w->n; c = cpu_claim(part)) {
		uint32_t from = (uint32_t)c * chunk;
		struct cpu_rows rows = {0, from, p.w->n - from < chunk ? p.w->n : from + chunk,
					NULL};

		cpu_product_f32(r, &p.px, &items, p.w, &rows, part->host_mem.scratch, &emit);
	}
}

const struct cpu_op cpu_op_patch = {
	.plan = plan,
	.run = run,
};
