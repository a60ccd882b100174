/* SPDX-License-Identifier: MIT
 *
 * EMBED: backend/common/embed.h, and the bound of the tokens that a step may have. */
#include "backend/common/embed.h"
#include "ops.h"

static enum lmd_status plan(struct ref_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	const struct lmd_op_embed *e = &op->u.embed;
	const struct lmd_weight *w = b->compiled_plan->host_mem.weights[e->table];

	if (e->idx_kind == LMD_IDX_TOKEN) {
		uint64_t n = (uint64_t)w->n_stack * w->n;

		b->compiled_plan->reads_tokens = true;
		if (n < b->compiled_plan->token_limit)
			b->compiled_plan->token_limit = (uint32_t)n;
	}
	host_mem_embed_need(&b->host_mem.part_bytes, e);
	/* An adapter's A has a column for each row of the table. */
	return host_mem_add_site(&b->compiled_plan->host_mem, e->lora_site, e->table, true, err);
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	host_mem_embed_run(&r->host_mem, &r->compiled_plan->host_mem, &op->u.embed,
			   &r->dev->loras, r->dev->chained, p);
}

const struct ref_op ref_op_embed = {
	.plan = plan,
	.run = run,
};
