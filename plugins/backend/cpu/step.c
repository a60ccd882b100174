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
	const struct lmd_group *d = &r->hm.plan->groups[group];
	const struct lmd_step *s = r->hm.step;
	const struct lmd_step_group *g = &s->group[group];
	struct lmd_pool *p = r->cplan->hm.pools[group];
	enum lmd_status st = LMD_OK;

	if (!p)
		return LMD_OK;
	if (p->state) {
		if (g->state_in)
			st = hm_in_range(err, "state_in", g->state_in, s->n_seq, -1, p->n_unit);
		if (st == LMD_OK && g->state_out)
			st = hm_in_range(err, "state_out", g->state_out, s->n_tok, -1, p->n_unit);
		return st;
	}
	st = hm_pool_changes(p, g, err);
	if (st == LMD_OK && g->slot)
		st = hm_in_range(
			err, "slot", g->slot,
			r->hm.rows[d->kind == LMD_GROUP_CROSS ? d->k_space : LMD_SPACE_TOKENS], -1,
			(int64_t)p->n_unit * p->page_tokens);
	return st;
}

enum lmd_status cpu_step_begin(struct cpu_run *r, struct lmd_error *err)
{
	const struct lmd_step *s = r->hm.step;
	enum lmd_status st = hm_count_rows(&r->hm, err);

	r->single = s->n_tok == s->n_seq;
	for (uint32_t i = 0; st == LMD_OK && s->lora_slot && i < s->n_tok; i++)
		r->lora = r->lora || s->lora_slot[i] > 0;
	for (uint32_t g = 0; st == LMD_OK && g < r->hm.plan->n_group; g++)
		st = check_group(r, g, err);
	if (st == LMD_OK)
		st = hm_check_inputs(&r->hm, NULL, err);
	if (st == LMD_OK && r->lora)
		st = lmi_lora_check(&r->dev->loras, &r->cplan->hm.sites, s->lora_slot, s->n_tok,
				    err);
	return st;
}
