/* SPDX-License-Identifier: MIT
 *
 * The host makes the step block and is trusted to do so correctly, but this backend is the oracle
 * for the host, too.  So all indices of a step are compared with the memory that they select from
 * before anything runs; the ops themselves need no checks. */
#include <string.h>

#include "backend/common/step.h"
#include "backend/common/view.h"
#include "ref.h"

static enum lmd_status check_maps(const struct ref_run *r, struct lmd_error *err)
{
	const struct lmd_step *s = r->host_mem.step;

	for (uint32_t k = 0; k < LMD_MAX_X; k++) {
		const int32_t *off = s->x_off[k];

		if (!off || !r->host_mem.plan->max_rows[LMD_SPACE_X0 + k])
			continue;
		for (uint32_t i = 0; i < s->head->n_seq; i++) {
			if (off[i] < (i ? off[i - 1] : 0) || off[i + 1] < off[i])
				return host_mem_bad_index(err, "x_off", i, off[i], off[i + 1]);
			if (s->x_h[k] && s->x_w[k] &&
			    (int64_t)s->x_h[k][i] * s->x_w[k][i] > off[i + 1] - off[i])
				return host_mem_bad_index(err, "x_w", i, s->x_w[k][i],
							  off[i + 1] - off[i]);
		}
	}
	return LMD_OK;
}

static enum lmd_status check_sequences(const struct ref_run *r, struct lmd_error *err)
{
	const struct lmd_step *s = r->host_mem.step;
	enum lmd_status st = LMD_OK;

	if (r->host_mem.plan->key.kind == LMD_PLAN_TAIL)
		return LMD_OK; /* sampling reads only rows of its inputs */
	st = host_mem_in_range(err, "seq_of", s->seq_of, s->head->n_tok, 0, s->head->n_seq);
	for (uint32_t i = 0; st == LMD_OK && s->head->n_tok && i < s->head->n_seq; i++) {
		if (s->q_start[i] < 0 || s->q_len[i] < 0 || (uint32_t)s->q_start[i] > s->head->n_tok)
			return host_mem_bad_index(err, "q_start", i, s->q_start[i], s->head->n_tok);
		if ((uint32_t)s->q_len[i] > s->head->n_tok - (uint32_t)s->q_start[i])
			return host_mem_bad_index(err, "q_len", i, s->q_len[i],
						  s->head->n_tok - (uint32_t)s->q_start[i]);
	}
	return st == LMD_OK ? host_mem_in_range(err, "out_row", s->out_row, s->head->n_out, 0, s->head->n_tok)
			    : st;
}

static enum lmd_status check_tokens(const struct ref_run *r, struct lmd_error *err)
{
	const struct lmd_step *s = r->host_mem.step;

	if (!r->compiled_plan->reads_tokens)
		return LMD_OK;
	if (s->head->n_tok && !s->token)
		return lmd_fail(err, LMD_INVALID, "step: token is missing");
	for (uint32_t i = 0; i < s->head->n_tok; i++) {
		int32_t t = s->token[i];

		if (t >= 0 && (uint32_t)t >= r->compiled_plan->token_limit)
			return host_mem_bad_index(err, "token", i, t,
						  r->compiled_plan->token_limit);
		if (t < -(1 << 30)) {
			uint32_t slot = (uint32_t)t - (uint32_t)LMD_TOKEN_CHAINED;

			if (slot >= r->dev->n_chained || r->dev->chained[slot] < 0 ||
			    (uint32_t)r->dev->chained[slot] >= r->compiled_plan->token_limit)
				return lmd_fail(err, LMD_INVALID,
						"step: token[%u] is chained to sequence "
						"slot %u, for which no token was sampled",
						i, slot);
		}
	}
	return LMD_OK;
}

/* Checks the keys that rows see: keys of a pool must have pages, keys of a step must be rows. */
static enum lmd_status check_keys(const struct ref_run *r, uint32_t group, struct lmd_error *err)
{
	const struct lmd_step_group *g = &r->host_mem.step->group[group];
	const struct lmd_group *d = &r->host_mem.plan->groups[group];
	const struct lmd_pool *p = r->compiled_plan->host_mem.pools[group];
	bool tokens = d->kind == LMD_GROUP_PAGED;
	uint32_t space = tokens ? LMD_SPACE_TOKENS : d->q_space, n = r->host_mem.rows[space];

	if (n && (!g->kv_lo || !g->kv_hi))
		return lmd_fail(err, LMD_INVALID, "step: kv_lo or kv_hi of group %u is missing",
				group);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t seq = host_mem_seq_of(&r->host_mem, space, i), first, most;
		const uint32_t *table = NULL;

		if (g->kv_lo[i] >= g->kv_hi[i])
			continue;
		if (p) {
			most = p->shape.n_index * p->shape.page_tokens;
			table = p->table + (size_t)r->host_mem.step->seq_slot[seq] * p->shape.n_index;
		} else {
			host_mem_seq_rows(&r->host_mem, d->k_space, seq, &first, &most);
		}
		if (g->kv_lo[i] < 0)
			return host_mem_bad_index(err, "kv_lo", i, g->kv_lo[i], 0);
		if ((uint32_t)g->kv_hi[i] > most)
			return host_mem_bad_index(err, "kv_hi", i, g->kv_hi[i], most);
		if (!table || (i && host_mem_seq_of(&r->host_mem, space, i - 1) == seq &&
			       g->kv_lo[i] >= g->kv_lo[i - 1] && g->kv_hi[i] <= g->kv_hi[i - 1]))
			continue;
		for (uint32_t j = (uint32_t)g->kv_lo[i] / p->shape.page_tokens;
		     j * p->shape.page_tokens < (uint32_t)g->kv_hi[i]; j++) {
			if (table[j] == HOST_MEM_NO_PAGE)
				return lmd_fail(
					err, LMD_INVALID,
					"step: group %u: page %u of sequence "
					"slot %d is not in the page table, row %u sees keys "
					"%d..%d",
					group, j, r->host_mem.step->seq_slot[seq], i, g->kv_lo[i],
					g->kv_hi[i]);
		}
	}
	return LMD_OK;
}

static enum lmd_status check_group(const struct ref_run *r, uint32_t group, struct lmd_error *err)
{
	const struct lmd_step *s = r->host_mem.step;
	const struct lmd_step_group *g = &s->group[group];
	struct lmd_pool *p = r->compiled_plan->host_mem.pools[group];
	enum lmd_status st = LMD_OK;

	if (p && p->shape.state) {
		st = host_mem_in_range(err, "state_in", g->state_in, s->head->n_seq, -1, p->shape.n_unit);
		if (st == LMD_OK)
			st = host_mem_in_range(err, "state_out", g->state_out, s->head->n_tok, -1,
					       p->shape.n_unit);
		return st;
	}
	if (p) {
		st = host_mem_pool_changes(p, g->change, s->head->n_change[group], err);
		if (st == LMD_OK)
			st = host_mem_in_range(err, "seq_slot", s->seq_slot, s->head->n_seq, 0, p->shape.n_seq);
	}
	if (st == LMD_OK && r->compiled_plan->group_write[group])
		st = host_mem_in_range(
			err, "slot", g->slot,
			r->host_mem.rows[r->host_mem.plan->groups[group].kind == LMD_GROUP_CROSS
						 ? r->host_mem.plan->groups[group].k_space
						 : LMD_SPACE_TOKENS],
			-1, p ? (int64_t)p->shape.n_unit * p->shape.page_tokens : INT32_MAX);
	if (st == LMD_OK && r->compiled_plan->group_read[group])
		st = check_keys(r, group, err);
	return st;
}

static enum lmd_status check_row_ins(const struct ref_run *r, struct lmd_error *err)
{
	for (uint32_t i = 0; i < r->host_mem.plan->n_row_in; i++) {
		if (r->host_mem.step->head->n_tok && !r->host_mem.step->row_in[i])
			return lmd_fail(err, LMD_INVALID, "step: row_in[%u] is missing", i);
	}
	return LMD_OK;
}

/* Checks that values whose rows are read several at a time have a multiple of that many rows. */
static enum lmd_status check_folds(const struct ref_run *r, struct lmd_error *err)
{
	for (uint32_t i = 0; i < r->compiled_plan->n_node; i++) {
		const struct ref_node *n = &r->compiled_plan->nodes[i];

		for (uint32_t j = 0; j < n->info->n_in; j++) {
			const struct lmd_operand *o = host_mem_operand(n->op, n->info->in[j]);
			uint32_t times = o->fold, space;

			if (n->op->code == LMD_OP_REDUCE && n->op->u.reduce.axis == LMD_AXIS_BLOCK)
				times = n->op->u.reduce.n;
			if (o->src != LMD_SRC_VALUE || times <= 1)
				continue;
			space = r->host_mem.plan->values[o->id].space;
			if (r->host_mem.rows[space] / times < r->host_mem.rows[n->op->space])
				return lmd_fail(err, LMD_INVALID,
						"step: op %u (%s) reads %u rows at a "
						"time; %u rows do not make %u",
						i, n->info->name, times, r->host_mem.rows[space],
						r->host_mem.rows[n->op->space]);
		}
	}
	return LMD_OK;
}

enum lmd_status ref_step_begin(struct ref_run *r, struct lmd_error *err)
{
	enum lmd_status st = host_mem_count_rows(&r->host_mem, err);

	if (st == LMD_OK)
		st = check_maps(r, err);
	if (st == LMD_OK)
		st = check_sequences(r, err);
	if (st == LMD_OK)
		st = check_tokens(r, err);
	for (uint32_t g = 0; st == LMD_OK && g < r->host_mem.plan->n_group; g++)
		st = check_group(r, g, err);
	if (st == LMD_OK)
		st = host_mem_check_inputs(&r->host_mem, r->compiled_plan->need_input, err);
	if (st == LMD_OK)
		st = check_row_ins(r, err);
	if (st == LMD_OK)
		st = check_folds(r, err);
	if (st == LMD_OK && r->host_mem.step->lora_slot)
		st = lora_check(&r->dev->loras, &r->compiled_plan->host_mem.sites,
				r->host_mem.step->lora_slot, r->host_mem.step->head->n_tok, err);
	return st;
}
