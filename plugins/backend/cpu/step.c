/* SPDX-License-Identifier: MIT
 *
 * Start of a step: row counts, page table changes, and the few checks that keep an invalid step
 * from writing outside of this backend's memory.  Everything else in a step is trusted; `ref`
 * checks all of it. */
#include "backend/common/step.h"
#include "cpu.h"

/* Checks the slots where states are read and written, and those where rows are stored. */
static enum lmd_status check_group(const struct cpu_run *r, uint32_t group, struct lmd_error *err)
{
	const struct lmd_group *d = &r->host_mem.plan->groups[group];
	const struct lmd_step *s = r->host_mem.step;
	const struct lmd_step_group *g = &s->group[group];
	struct lmd_pool *p = r->compiled_plan->host_mem.pools[group];
	enum lmd_status st = LMD_OK;

	if (!p)
		return LMD_OK;
	if (p->shape.state) {
		if (g->state_in)
			st = host_mem_in_range(err, "state_in", g->state_in, s->head->n_seq, -1,
					       p->shape.n_unit);
		if (st == LMD_OK && g->state_out)
			st = host_mem_in_range(err, "state_out", g->state_out, s->head->n_tok, -1,
					       p->shape.n_unit);
		return st;
	}
	st = host_mem_pool_changes(p, g->change, s->head->n_change[group], err);
	if (st == LMD_OK && g->slot)
		st = host_mem_in_range(
			err, "slot", g->slot,
			r->host_mem
				.rows[d->kind == LMD_GROUP_CROSS ? d->k_space : LMD_SPACE_TOKENS],
			-1, (int64_t)p->shape.n_unit * p->shape.page_tokens);
	return st;
}

enum lmd_status cpu_step_begin(struct cpu_run *r, struct lmd_error *err)
{
	const struct lmd_step *s = r->host_mem.step;
	enum lmd_status st = host_mem_count_rows(&r->host_mem, err);

	r->single = s->head->n_tok == s->head->n_seq;
	r->lora = s->lora_slot && (s->head->flags & LMD_STEP_LORA);
	for (uint32_t g = 0; st == LMD_OK && g < r->host_mem.plan->n_group; g++)
		st = check_group(r, g, err);
	if (st == LMD_OK)
		st = host_mem_check_inputs(&r->host_mem, NULL, err);
	if (st == LMD_OK && r->lora)
		st = lora_check(&r->dev->loras, &r->compiled_plan->host_mem.sites, s->lora_slot,
				s->head->n_tok, err);
	return st;
}
