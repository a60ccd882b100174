/* SPDX-License-Identifier: MIT
 *
 * GLU: an activation, times a second operand if there is one. */
#include "act.h"
#include "ops.h"
#include "view.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)err;
	for (int i = 0; i < 3; i++)
		ref_need(&b->part_bytes, op->u.glu.y.width, sizeof(float));
	return LMD_OK;
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct ref_part *p)
{
	const struct lmd_op_glu *g = &op->u.glu;
	struct ref_view a = ref_view(r, &g->a), b = ref_view(r, &g->b), y = ref_view(r, &g->y);
	char *scratch = p->scratch;
	float *ta = ref_take(&scratch, y.width, sizeof(float));
	float *tb = ref_take(&scratch, y.width, sizeof(float));
	float *ty = ref_take(&scratch, y.width, sizeof(float));
	uint64_t lo, hi;

	ref_slice(p, (uint64_t)y.n_row * y.n_head, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / y.n_head), head = (uint32_t)(i % y.n_head);
		const float *xa = ref_f32(&a, row, head, ta);
		const float *xb = b.base ? ref_f32(&b, row, head, tb) : NULL;
		float *out = ref_at(&y, row, head, ty);

		for (uint32_t c = 0; c < y.width; c++)
			out[c] = ref_act(g->act, g->p, xa[c], xb ? xb[c] : 0.0f, xb != NULL);
		ref_commit(&y, row, head, out, ty);
	}
}

static const uint16_t ins[] = {REF_OFF(glu.a), REF_OFF(glu.b)};
static const uint16_t outs[] = {REF_OFF(glu.y)};

const struct ref_op ref_op_glu = {
	.name = "glu",
	.plan = plan,
	.run = run,
	REF_OPERANDS(ins, outs),
};
