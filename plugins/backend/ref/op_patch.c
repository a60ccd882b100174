/* SPDX-License-Identifier: MIT
 *
 * PATCH: windows of a sequence or a map, times a matrix.  Phase 0 copies the windows into rows,
 * phase 1 multiplies them. */
#include "ops.h"
#include "backend/common/patch.h"
#include "product.h"

struct patch {
	const struct lmd_weight *w;
	struct host_mem_patch in;
	struct ref_x px;
};

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_patch *o = &op->u.patch;
	const struct lmd_weight *w = b->compiled_plan->host_mem.weights[o->w];

	(void)err;
	b->host_mem.n_phase = 2;
	ref_x_need(b, host_mem_max_rows(b->host_mem.plan, &o->y) / o->y.n_head, w->k);
	ref_product_need(b, w);
	return LMD_OK;
}

static void emit(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct patch *p = arg;

	for (uint32_t i = 0; i < n; i++)
		*(float *)host_mem_cell(&p->in.y, item, n0 + i) =
			host_mem_weight_scale(p->w, 0, n0 + i) * v[i] +
			host_mem_weight_bias(p->w, 0, n0 + i);
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *part)
{
	const struct lmd_op_patch *o = &op->u.patch;
	struct patch p = {.w = r->compiled_plan->host_mem.weights[o->w],
			  .in = host_mem_patch(&r->host_mem, o)};
	struct ref_items items = {.count = p.in.y.n_row, .div = 1};
	char *cursor = r->host_mem.shared;
	uint64_t lo, hi;

	p.px = ref_x_take(r, &cursor, p.in.y.n_row, p.w->k);
	p.px.q = NULL; /* always in float */
	if (part->phase == 0) {
		host_mem_slice(part, p.in.y.n_row, &lo, &hi);
		for (uint64_t row = lo; row < hi; row++) {
			host_mem_patch_window(&p.in, (uint32_t)row, p.px.copy + row * p.w->k);
			ref_x_own(&p.px, row);
		}
		return;
	}
	ref_tiles(part, p.w->n, &lo, &hi);
	ref_product(r, &p.px, &items, p.w, lo, hi, part->scratch, emit, &p);
}

const struct ref_op ref_op_patch = {
	.plan = plan,
	.run = run,
};
