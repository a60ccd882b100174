/* SPDX-License-Identifier: MIT
 *
 * PATCH: windows of a sequence or a map, times a matrix.  Phase 0 copies the windows into rows,
 * phase 1 multiplies them. */
#include "ops.h"
#include "backend/common/patch.h"
#include "product.h"

struct patch {
	const struct lmd_weight *w;
	struct hm_patch in;
	struct ref_x px;
};

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_patch *o = &op->u.patch;
	const struct lmd_weight *w = b->cplan->hm.weights[o->w];

	(void)err;
	b->hm.n_phase = 2;
	ref_x_need(b, hm_max_rows(b->hm.plan, &o->y) / o->y.n_head, w->k);
	ref_product_need(b, w);
	return LMD_OK;
}

static void emit(void *arg, uint32_t item, uint32_t n0, uint32_t n, const float *v)
{
	const struct patch *p = arg;

	for (uint32_t i = 0; i < n; i++)
		*(float *)hm_cell(&p->in.y, item, n0 + i) =
			hm_weight_scale(p->w, 0, n0 + i) * v[i] + hm_weight_bias(p->w, 0, n0 + i);
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct hm_part *part)
{
	const struct lmd_op_patch *o = &op->u.patch;
	struct patch p = {.w = r->cplan->hm.weights[o->w], .in = hm_patch(&r->hm, o)};
	struct ref_items items = {.count = p.in.y.n_row, .div = 1};
	char *cursor = r->hm.shared;
	uint64_t lo, hi;

	p.px = ref_x_take(r, &cursor, p.in.y.n_row, p.w->k);
	p.px.q = NULL; /* always in float */
	if (part->phase == 0) {
		hm_slice(part, p.in.y.n_row, &lo, &hi);
		for (uint64_t row = lo; row < hi; row++) {
			hm_patch_window(&p.in, (uint32_t)row, p.px.copy + row * p.w->k);
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
