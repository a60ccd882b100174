/* SPDX-License-Identifier: MIT
 *
 * GLU: an activation, times a second operand if there is one. */
#include "act.h"
#include "ops.h"
#include "view.h"

/* Columns that are shared out at a time. */
#define SPAN 1024u

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)err;
	for (int i = 0; i < 3; i++)
		cpu_need(&b->part_bytes, op->u.glu.y.width, sizeof(float));
	return LMD_OK;
}

static bool little(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	struct cpu_view y = cpu_view(r, &n->op->u.glu.y);

	(void)phase;
	return (uint64_t)y.n_row * cpu_cols(&y) <= CPU_LITTLE / 2;
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_glu *g = &n->op->u.glu;
	struct cpu_view a = cpu_view(r, &g->a), b = cpu_view(r, &g->b), y = cpu_view(r, &g->y);
	uint32_t spans = (y.width + SPAN - 1) / SPAN;
	char *scratch = p->scratch;
	float *ta = cpu_take(&scratch, y.width, sizeof(float));
	float *tb = cpu_take(&scratch, y.width, sizeof(float));
	float *ty = cpu_take(&scratch, y.width, sizeof(float));
	uint64_t lo, hi;

	if (y.fold > 1) /* parts may not share a row that is written back as a whole */
		spans = 1;
	cpu_slice(p, (uint64_t)y.n_row * y.n_head * spans, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / spans / y.n_head);
		uint32_t head = (uint32_t)(i / spans % y.n_head);
		uint32_t c0 = spans > 1 ? (uint32_t)(i % spans) * SPAN : 0;
		uint32_t count = spans > 1 && y.width - c0 > SPAN ? SPAN : y.width - c0;
		const float *xa = cpu_f32(&a, row, head, ta);
		const float *xb = b.base ? cpu_f32(&b, row, head, tb) + c0 : NULL;
		float *out = cpu_at(&y, row, head, ty);

		cpu_act_row(r->dev->fl, g->act, g->p, xa + c0, xb, out + c0, count);
		cpu_commit(&y, row, head, out, ty);
	}
}

static const uint16_t ins[] = {CPU_OFF(glu.a), CPU_OFF(glu.b)};
static const uint16_t outs[] = {CPU_OFF(glu.y)};

const struct cpu_op cpu_op_glu = {
	.name = "glu",
	.plan = plan,
	.little = little,
	.run = run,
	CPU_OPERANDS(ins, outs),
};
