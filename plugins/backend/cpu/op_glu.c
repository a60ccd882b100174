/* SPDX-License-Identifier: MIT
 *
 * GLU: an activation function, times a second operand if there is one. */
#include "act.h"
#include "ops.h"
#include "backend/common/view.h"
#include "cpu.h"

/* Columns per work item. */
#define SPAN 1024u

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)err;
	for (int i = 0; i < 3; i++)
		host_mem_need(&b->host_mem.part_bytes, op->u.glu.y.width, sizeof(float));
	return LMD_OK;
}

static bool little(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	struct host_mem_view y = host_mem_view(&r->host_mem, &n->op->u.glu.y);

	(void)phase;
	return (uint64_t)y.n_row * host_mem_cols(&y) <= CPU_SMALL_PHASE / 2;
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_glu *g = &n->op->u.glu;
	struct host_mem_view a = host_mem_view(&r->host_mem, &g->a),
			     b = host_mem_view(&r->host_mem, &g->b),
			     y = host_mem_view(&r->host_mem, &g->y);
	uint32_t spans = (y.width + SPAN - 1) / SPAN;
	char *scratch = p->host_mem.scratch;
	float *ta = host_mem_take(&scratch, y.width, sizeof(float));
	float *tb = host_mem_take(&scratch, y.width, sizeof(float));
	float *ty = host_mem_take(&scratch, y.width, sizeof(float));
	uint64_t lo, hi;

	if (y.fold > 1) /* parts must not share a row that host_mem_commit writes back as a whole */
		spans = 1;
	host_mem_slice(&p->host_mem, (uint64_t)y.n_row * y.n_head * spans, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)(i / spans / y.n_head);
		uint32_t head = (uint32_t)(i / spans % y.n_head);
		uint32_t c0 = spans > 1 ? (uint32_t)(i % spans) * SPAN : 0;
		uint32_t count = spans > 1 && y.width - c0 > SPAN ? SPAN : y.width - c0;
		const float *xa = host_mem_f32(&a, row, head, ta);
		const float *xb = b.base ? host_mem_f32(&b, row, head, tb) + c0 : NULL;
		float *out = host_mem_at(&y, row, head, ty);

		cpu_act_row(r->dev->fl, g->act, g->p, xa + c0, xb, out + c0, count);
		host_mem_commit(&y, row, head, out, ty);
	}
}

const struct cpu_op cpu_op_glu = {
	.plan = plan,
	.little = little,
	.run = run,
};
