/* SPDX-License-Identifier: MIT
 *
 * The step block: one allocation in which every array has an offset that depends only on the limits
 * of the plan.  A first pass adds up the sizes and a second one assigns the pointers; both run the
 * same code, so they cannot disagree. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/plan/plan_priv.h"

#define ALIGN 64u

struct carve {
	char *base; /* NULL: compute sizes only */
	uint64_t at;
	bool overflow;
};

/* Reserves the next n items, 64-byte aligned; at least one item, so that no array is NULL by
 * accident. */
static void *carve(struct carve *c, uint64_t n, uint64_t item)
{
	uint64_t bytes, at = c->at;

	if (!lmi_mul_ok(n ? n : 1, item, &bytes) || !lmi_align_ok(bytes, ALIGN, &bytes) ||
	    !lmi_add_ok(c->at, bytes, &c->at)) {
		c->overflow = true;
		return NULL;
	}
	return c->base ? c->base + at : NULL;
}

static int32_t *ints(struct carve *c, uint64_t n)
{
	return carve(c, n, sizeof(int32_t));
}

/* Rows of the queries of a group, and rows that are written to it. */
static uint32_t query_rows(const struct lmd_plan *p, const struct lmd_group *g)
{
	bool own = g->kind == LMD_GROUP_BATCH || g->kind == LMD_GROUP_CROSS;

	return p->max_rows[own ? g->q_space : LMD_SPACE_TOKENS];
}

static uint32_t slot_rows(const struct lmd_plan *p, const struct lmd_group *g)
{
	uint32_t t = p->max_rows[LMD_SPACE_TOKENS];
	uint32_t k = g->kind == LMD_GROUP_CROSS ? p->max_rows[g->k_space] : 0;

	return t > k ? t : k;
}

static void groups(struct carve *c, struct lmi_step *s, const struct lmd_plan *p,
		   uint32_t max_change)
{
	s->view.n_group = p->n_group;
	for (uint32_t i = 0; i < p->n_group; i++) {
		const struct lmd_group *g = &p->groups[i];
		struct lmd_step_group *v = &s->view.group[i];

		if (g->kind == LMD_GROUP_STATE) {
			v->state_in = s->group[i].state_in = ints(c, p->max_rows[LMD_SPACE_SEQS]);
			v->state_out = s->group[i].state_out =
				ints(c, p->max_rows[LMD_SPACE_TOKENS]);
			continue;
		}
		v->kv_lo = s->group[i].kv_lo = ints(c, query_rows(p, g));
		v->kv_hi = s->group[i].kv_hi = ints(c, query_rows(p, g));
		if (g->kind == LMD_GROUP_BATCH)
			continue;
		v->slot = s->group[i].slot = ints(c, slot_rows(p, g));
		v->change = s->group[i].change = carve(c, max_change, sizeof(struct lmd_page_set));
		s->group[i].max_change = max_change;
	}
}

static void carve_all(struct carve *c, struct lmi_step *s, const struct lmd_plan *p,
		      uint32_t max_change)
{
	const uint64_t t = p->max_rows[LMD_SPACE_TOKENS], n_seq = p->max_rows[LMD_SPACE_SEQS];

	s->view.token = s->token = ints(c, t);
	for (int i = 0; i < 4; i++)
		s->view.pos[i] = s->pos[i] = ints(c, t);
	s->view.seq_of = s->seq_of = ints(c, t);
	s->view.q_start = s->q_start = ints(c, n_seq);
	s->view.q_len = s->q_len = ints(c, n_seq);
	s->view.seq_slot = s->seq_slot = ints(c, n_seq);
	s->view.out_row = s->out_row = ints(c, p->max_rows[LMD_SPACE_OUTPUTS]);
	s->tree = carve(c, t, sizeof(*s->tree));
	s->lora_slot = ints(c, t);
	if (p->key.flags & LMD_PLAN_LORA)
		s->view.lora_slot = s->lora_slot;
	for (uint32_t i = 0; i < p->n_row_in; i++)
		s->view.row_in[i] = s->row_in[i] = ints(c, t * p->row_ins[i].width);
	groups(c, s, p, max_change);
	for (uint32_t i = 0; i < p->n_x; i++) {
		s->view.x_off[i] = s->x_off[i] = ints(c, n_seq + 1);
		s->view.x_h[i] = s->x_h[i] = ints(c, n_seq);
		s->view.x_w[i] = s->x_w[i] = ints(c, n_seq);
	}
}

enum lmd_status lmi_step_create(struct lmi_step **out, const struct lmd_plan *plan,
				uint32_t max_change, struct lmd_error *err)
{
	struct lmi_step *s = lmi_alloc(1, sizeof(*s));
	struct carve c = {0};

	if (!s)
		return lmd_fail(err, LMD_NOMEM, "step block: out of memory");
	carve_all(&c, s, plan, max_change);
	if (c.overflow || c.at > SIZE_MAX / 2) {
		lmi_free(s);
		return lmd_fail(err, LMD_INVALID, "step block: the size for %u rows overflows",
				plan->max_rows[LMD_SPACE_TOKENS]);
	}
	s->block = lmi_alloc((size_t)c.at, 1);
	if (!s->block) {
		lmi_free(s);
		return lmd_fail(err, LMD_NOMEM, "step block: out of memory for %llu bytes",
				(unsigned long long)c.at);
	}
	s->view.struct_size = sizeof(s->view);
	s->view.base = s->block;
	s->view.bytes = c.at;
	c = (struct carve){.base = s->block};
	carve_all(&c, s, plan, max_change);
	*out = s;
	return LMD_OK;
}

void lmi_step_destroy(struct lmi_step *s)
{
	if (!s)
		return;
	lmi_free(s->block);
	lmi_free(s);
}
