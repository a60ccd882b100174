/* SPDX-License-Identifier: MIT
 *
 * EMBED: backend/common/embed.h.  Chained tokens (llamad/step.h) never reach this backend. */
#include "backend/common/embed.h"
#include "ops.h"
#include "cpu.h"

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	host_mem_embed_need(&b->host_mem.part_bytes, &op->u.embed);
	/* An adapter's A has a column for each row of the table. */
	return host_mem_add_site(&b->compiled_plan->host_mem, op->u.embed.lora_site,
				 op->u.embed.table, true, err);
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	host_mem_embed_run(&r->host_mem, &r->compiled_plan->host_mem, &n->op->u.embed,
			   r->lora ? &r->dev->loras : NULL, NULL, &p->host_mem);
}

const struct cpu_op cpu_op_embed = {
	.plan = plan,
	.run = run,
};
