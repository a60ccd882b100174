/* SPDX-License-Identifier: MIT
 *
 * The beginning of a step: counts of rows, page table changes, and the few comparisons that keep a
 * wrong step from writing outside of this backend's memory.  Everything else in a step is the
 * host's word; `ref` checks it all. */
#include "backend/common/view.h"
#include "cpu.h"

static enum lmd_status bad(struct lmd_error *err, const char *field, uint32_t at, int64_t value,
			   int64_t bound)
{
	return lmd_fail(err, LMD_INVALID, "step: %s[%u] is %lld, bound %lld", field, at,
			(long long)value, (long long)bound);
}

static enum lmd_status count_rows(struct cpu_run *r, struct lmd_error *err)
{
	const struct lmd_step *s = r->hm.step;
	const char *const names[] = {"n_tok", "n_out", "n_seq"};

	r->hm.rows[LMD_SPACE_TOKENS] = s->n_tok;
	r->hm.rows[LMD_SPACE_OUTPUTS] = s->n_out;
	r->hm.rows[LMD_SPACE_SEQS] = s->n_seq;
	for (uint32_t i = 0; i < LMD_LEN(names); i++) {
		if (r->hm.rows[i] > r->hm.plan->max_rows[i])
			return lmd_fail(err, LMD_INVALID, "step: %s is %u, the plan takes %u",
					names[i], r->hm.rows[i], r->hm.plan->max_rows[i]);
	}
	for (uint32_t k = 0; k < LMD_MAX_X; k++) {
		uint32_t most = r->hm.plan->max_rows[LMD_SPACE_X0 + k];
		int32_t end;

		if (!s->x_off[k] || !most || !s->n_seq)
			continue;
		end = s->x_off[k][s->n_seq];
		if (end < 0 || (uint32_t)end > most)
			return bad(err, "x_off", s->n_seq, end, most);
		r->hm.rows[LMD_SPACE_X0 + k] = (uint32_t)end;
	}
	r->single = s->n_tok == s->n_seq;
	for (uint32_t i = 0; s->lora_slot && i < s->n_tok; i++)
		r->lora = r->lora || s->lora_slot[i] > 0;
	return LMD_OK;
}

/* Rows are stored where `slot` says. */
static enum lmd_status check_slots(const struct cpu_run *r, const struct lmd_pool *p,
				   const struct lmd_step_group *g, uint32_t group,
				   struct lmd_error *err)
{
	const struct lmd_group *d = &r->hm.plan->groups[group];
	uint32_t n = r->hm.rows[d->kind == LMD_GROUP_CROSS ? d->k_space : LMD_SPACE_TOKENS];
	int64_t end = (int64_t)p->n_unit * p->page_tokens;

	for (uint32_t i = 0; g->slot && i < n; i++) {
		if (g->slot[i] < -1 || g->slot[i] >= end)
			return bad(err, "slot", i, g->slot[i], end);
	}
	return LMD_OK;
}

static enum lmd_status check_states(const struct cpu_run *r, const struct lmd_pool *p,
				    const struct lmd_step_group *g, struct lmd_error *err)
{
	for (uint32_t i = 0; g->state_in && i < r->hm.step->n_seq; i++) {
		if (g->state_in[i] < -1 || g->state_in[i] >= (int64_t)p->n_unit)
			return bad(err, "state_in", i, g->state_in[i], p->n_unit);
	}
	for (uint32_t i = 0; g->state_out && i < r->hm.step->n_tok; i++) {
		if (g->state_out[i] < -1 || g->state_out[i] >= (int64_t)p->n_unit)
			return bad(err, "state_out", i, g->state_out[i], p->n_unit);
	}
	return LMD_OK;
}

static enum lmd_status check_inputs(const struct cpu_run *r, struct lmd_error *err)
{
	for (uint32_t i = 0; i < r->hm.plan->n_input; i++) {
		const struct lmd_input *x = &r->hm.plan->inputs[i];
		const struct lmd_binding *b = hm_input(&r->hm, i);

		if (b && b->n_row > 1 && b->row_bytes < 4 * (uint64_t)x->width)
			return lmd_fail(err, LMD_INVALID,
					"input %u (%s): rows of %llu bytes, %llu are needed", i,
					x->name, (unsigned long long)b->row_bytes,
					4 * (unsigned long long)x->width);
		if (!x->own_rows && r->hm.rows[x->space] && (!b || b->n_row < r->hm.rows[x->space]))
			return lmd_fail(err, LMD_INVALID, "input %u (%s): %u rows, %u are needed",
					i, x->name, b ? b->n_row : 0, r->hm.rows[x->space]);
	}
	return LMD_OK;
}

enum lmd_status cpu_step_begin(struct cpu_run *r, struct lmd_error *err)
{
	enum lmd_status st = count_rows(r, err);

	for (uint32_t g = 0; st == LMD_OK && g < r->hm.plan->n_group; g++) {
		struct lmd_pool *p = r->cplan->hm.pools[g];
		const struct lmd_step_group *x = &r->hm.step->group[g];

		if (!p)
			continue;
		if (p->state) {
			st = check_states(r, p, x, err);
			continue;
		}
		st = hm_pool_changes(p, x, err);
		if (st == LMD_OK)
			st = check_slots(r, p, x, g, err);
	}
	if (st == LMD_OK)
		st = check_inputs(r, err);
	if (st == LMD_OK && r->lora)
		st = lmi_lora_check(&r->dev->loras, &r->cplan->hm.sites, r->hm.step->lora_slot,
				    r->hm.step->n_tok, err);
	return st;
}
