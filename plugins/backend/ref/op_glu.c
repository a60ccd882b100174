/* SPDX-License-Identifier: MIT
 *
 * GLU: an activation function, times a second operand if there is one. */
#include "backend/common/act.h"
#include "ops.h"
#include "backend/common/view.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)err;
	for (int i = 0; i < 3; i++)
		host_mem_need(&b->host_mem.part_bytes, op->u.glu.y.width, sizeof(float));
	return LMD_OK;
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	const struct lmd_op_glu *g = &op->u.glu;
	struct host_mem_view a = host_mem_view(&r->host_mem, &g->a),
			     b = host_mem_view(&r->host_mem, &g->b),
			     y = host_mem_view(&r->host_mem, &g->y);
	char *scratch = p->scratch;
	float *ta = host_mem_take(&scratch, y.width, sizeof(float));
	float *tb = host_mem_take(&scratch, y.width, sizeof(float));
	float *ty = host_mem_take(&scratch, y.width, sizeof(float));
	uint64_t lo, hi;

	host_mem_slice(p, (uint64_t)y.n_row * y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / y.n_head), head = (uint32_t)(i % y.n_head);
		const float *xa = host_mem_f32(&a, row, head, ta);
		const float *xb = b.base ? host_mem_f32(&b, row, head, tb) : NULL;
		float *out = host_mem_at(&y, row, head, ty);

		for (uint32_t c = 0; c < y.width; c++)
			out[c] = host_mem_act(g->act, g->p, xa[c], xb ? xb[c] : 0.0f, xb != NULL);
		host_mem_commit(&y, row, head, out, ty);
	}
}

const struct ref_op ref_op_glu = {
	.plan = plan,
	.run = run,
};
