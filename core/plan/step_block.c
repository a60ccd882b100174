/* SPDX-License-Identifier: MIT
 *
 * The step block: one piece of memory in which every array has an offset that depends only on the
 * limits of the plan. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/plan/plan_priv.h"

#define ALIGN 64u

/* Assigns offsets one after the other. */
struct carve {
	uint64_t at;
	bool overflow;
};

/* Reserves the next n items, 64-byte aligned; at least one item, so that every array that exists
 * has an offset of its own. */
static uint64_t carve(struct carve *c, uint64_t n, uint64_t item)
{
	uint64_t bytes, at = c->at;

	if (!lmi_mul_ok(n ? n : 1, item, &bytes) || !lmi_align_ok(bytes, ALIGN, &bytes) ||
	    !lmi_add_ok(c->at, bytes, &c->at))
		c->overflow = true;
	return at;
}

static uint64_t ints(struct carve *c, uint64_t n)
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

static void carve_group(struct carve *c, struct lmd_step_group_layout *l, const struct lmd_plan *p,
			const struct lmd_group *g, uint32_t max_change)
{
	if (g->kind == LMD_GROUP_STATE) {
		l->state_in = ints(c, p->max_rows[LMD_SPACE_SEQS]);
		l->state_out = ints(c, p->max_rows[LMD_SPACE_TOKENS]);
		return;
	}
	l->kv_lo = ints(c, query_rows(p, g));
	l->kv_hi = ints(c, query_rows(p, g));
	if (g->kind == LMD_GROUP_BATCH)
		return;
	l->slot = ints(c, slot_rows(p, g));
	l->change = carve(c, max_change, sizeof(struct lmd_page_set));
}

static void carve_all(struct carve *c, struct lmd_step_layout *l, const struct lmd_plan *p)
{
	const uint64_t t = l->max_tok, n_seq = l->max_seq;

	l->token = ints(c, t);
	for (int i = 0; i < 4; i++)
		l->pos[i] = ints(c, t);
	l->seq_of = ints(c, t);
	l->q_start = ints(c, n_seq);
	l->q_len = ints(c, n_seq);
	l->seq_slot = ints(c, n_seq);
	l->out_row = ints(c, l->max_out);
	if (p->key.flags & LMD_PLAN_TREE)
		l->tree = carve(c, t, sizeof(uint64_t));
	if (p->key.flags & LMD_PLAN_LORA)
		l->lora_slot = ints(c, t);
	for (uint32_t i = 0; i < p->n_row_in; i++)
		l->row_in[i] = ints(c, t * p->row_ins[i].width);
	for (uint32_t i = 0; i < p->n_group; i++)
		carve_group(c, &l->group[i], p, &p->groups[i], l->max_change);
	for (uint32_t i = 0; i < p->n_x; i++) {
		l->x_off[i] = ints(c, n_seq + 1);
		l->x_h[i] = ints(c, n_seq);
		l->x_w[i] = ints(c, n_seq);
	}
}

enum lmd_status lmi_plan_step_layout(struct lmd_step_layout *out, const struct lmd_plan *plan,
				     uint32_t max_change, struct lmd_error *err)
{
	struct carve c = {.at = sizeof(struct lmd_step_header)};

	*out = (struct lmd_step_layout){
		.struct_size = sizeof(*out),
		.n_group = plan->n_group,
		.max_tok = plan->max_rows[LMD_SPACE_TOKENS],
		.max_seq = plan->max_rows[LMD_SPACE_SEQS],
		.max_out = plan->max_rows[LMD_SPACE_OUTPUTS],
		.max_change = max_change,
	};
	carve_all(&c, out, plan);
	if (c.overflow || c.at > SIZE_MAX / 2)
		return lmd_fail(err, LMD_INVALID, "step block: the size for %u rows overflows",
				out->max_tok);
	out->bytes = c.at;
	return LMD_OK;
}

/* ---- pointers ---- */

/* Returns the address of an array, NULL if the plan has no such array. */
static void *at(const struct lmi_plan_step *s, uint64_t offset)
{
	return offset ? s->block + offset : NULL;
}

static void point_group(struct lmi_plan_step *s, uint32_t i)
{
	const struct lmd_step_group_layout *l = &s->layout.group[i];
	struct lmd_step_group *v = &s->view.group[i];

	v->kv_lo = s->group[i].kv_lo = at(s, l->kv_lo);
	v->kv_hi = s->group[i].kv_hi = at(s, l->kv_hi);
	v->slot = s->group[i].slot = at(s, l->slot);
	v->change = s->group[i].change = at(s, l->change);
	v->state_in = s->group[i].state_in = at(s, l->state_in);
	v->state_out = s->group[i].state_out = at(s, l->state_out);
	s->group[i].max_change = l->change ? s->layout.max_change : 0;
}

static void point_all(struct lmi_plan_step *s)
{
	const struct lmd_step_layout *l = &s->layout;

	s->view.head = s->head = (struct lmd_step_header *)(void *)s->block;
	s->view.token = s->token = at(s, l->token);
	for (int i = 0; i < 4; i++)
		s->view.pos[i] = s->pos[i] = at(s, l->pos[i]);
	s->view.seq_of = s->seq_of = at(s, l->seq_of);
	s->view.q_start = s->q_start = at(s, l->q_start);
	s->view.q_len = s->q_len = at(s, l->q_len);
	s->view.seq_slot = s->seq_slot = at(s, l->seq_slot);
	s->view.out_row = s->out_row = at(s, l->out_row);
	s->view.tree = s->tree = at(s, l->tree);
	s->view.lora_slot = s->lora_slot = at(s, l->lora_slot);
	for (uint32_t i = 0; i < LMD_MAX_ROW_IN; i++)
		s->view.row_in[i] = s->row_in[i] = at(s, l->row_in[i]);
	for (uint32_t i = 0; i < l->n_group; i++)
		point_group(s, i);
	for (uint32_t i = 0; i < LMD_MAX_X; i++) {
		s->view.x_off[i] = s->x_off[i] = at(s, l->x_off[i]);
		s->view.x_h[i] = s->x_h[i] = at(s, l->x_h[i]);
		s->view.x_w[i] = s->x_w[i] = at(s, l->x_w[i]);
	}
}

enum lmd_status lmi_plan_step_create_at(struct lmi_plan_step **out, const struct lmd_plan *plan,
					const struct lmd_step_layout *layout, void *block,
					struct lmd_error *err)
{
	struct lmi_plan_step *s = lmi_alloc(1, sizeof(*s));

	if (!s)
		return lmd_fail(err, LMD_NOMEM, "step block: out of memory");
	s->layout = *layout;
	s->plan = plan;
	s->own = block ? NULL : lmi_alloc((size_t)layout->bytes, 1);
	s->block = block ? block : s->own;
	if (!s->block) {
		lmi_free(s);
		return lmd_fail(err, LMD_NOMEM, "step block: out of memory for %llu bytes",
				(unsigned long long)layout->bytes);
	}
	memset(s->block, 0, (size_t)layout->bytes);
	s->view.struct_size = sizeof(s->view);
	s->view.n_group = layout->n_group;
	s->view.bytes = layout->bytes;
	point_all(s);
	*out = s;
	return LMD_OK;
}

enum lmd_status lmi_plan_step_create(struct lmi_plan_step **out, const struct lmd_plan *plan,
				     uint32_t max_change, struct lmd_error *err)
{
	struct lmd_step_layout l;
	enum lmd_status st = lmi_plan_step_layout(&l, plan, max_change, err);

	return st == LMD_OK ? lmi_plan_step_create_at(out, plan, &l, NULL, err) : st;
}

void lmi_plan_step_destroy(struct lmi_plan_step *s)
{
	if (!s)
		return;
	lmi_free(s->own);
	lmi_free(s);
}

/* ---- padding ---- */

/* Sets v[from..to) to one value; v may be NULL. */
static void fill(int32_t *v, uint32_t from, uint32_t to, int32_t value)
{
	for (uint32_t i = from; v && i < to; i++)
		v[i] = value;
}

static void clear(void *v, uint32_t from, uint32_t to, size_t item)
{
	if (v && from < to)
		memset((char *)v + from * item, 0, (to - from) * item);
}

/* Number of live rows of a space. */
static uint32_t live(const struct lmi_plan_step *s, uint32_t space)
{
	const int32_t *off;

	switch (space) {
	case LMD_SPACE_TOKENS:
		return s->head->n_tok;
	case LMD_SPACE_OUTPUTS:
		return s->head->n_out;
	case LMD_SPACE_SEQS:
		return s->head->n_seq;
	default:
		off = s->x_off[space - LMD_SPACE_X0];
		return off ? (uint32_t)off[s->head->n_seq] : 0;
	}
}

static void pad_group(struct lmi_plan_step *s, const struct lmd_group *g, uint32_t i)
{
	bool own = g->kind == LMD_GROUP_BATCH || g->kind == LMD_GROUP_CROSS;
	uint32_t q = query_rows(s->plan, g), from = live(s, own ? g->q_space : LMD_SPACE_TOKENS);
	uint32_t rows = live(s, g->kind == LMD_GROUP_CROSS ? g->k_space : LMD_SPACE_TOKENS);

	/* the slots of a CROSS group belong to rows of its key space or to the tokens */
	if (s->head->n_tok > rows)
		rows = s->head->n_tok;
	fill(s->group[i].kv_lo, from, q, 0);
	fill(s->group[i].kv_hi, from, q, 0);
	fill(s->group[i].slot, rows, slot_rows(s->plan, g), -1);
	fill(s->group[i].state_in, s->head->n_seq, s->layout.max_seq, -1);
	fill(s->group[i].state_out, s->head->n_tok, s->layout.max_tok, -1);
}

void lmi_plan_step_pad(struct lmi_plan_step *s)
{
	const struct lmd_step_layout *l = &s->layout;
	uint32_t t = s->head->n_tok, seq = s->head->n_seq;

	fill(s->token, t, l->max_tok, 0);
	for (int i = 0; i < 4; i++)
		fill(s->pos[i], t, l->max_tok, 0);
	fill(s->seq_of, t, l->max_tok, 0);
	clear(s->tree, t, l->max_tok, sizeof(*s->tree));
	fill(s->lora_slot, t, l->max_tok, 0);
	for (uint32_t i = 0; i < s->plan->n_row_in; i++)
		clear(s->row_in[i], t, l->max_tok, 4 * (size_t)s->plan->row_ins[i].width);
	fill(s->q_start, seq, l->max_seq, (int32_t)t);
	fill(s->q_len, seq, l->max_seq, 0);
	fill(s->seq_slot, seq, l->max_seq, 0);
	fill(s->out_row, s->head->n_out, l->max_out, 0);
	for (uint32_t i = 0; i < l->n_group; i++)
		pad_group(s, &s->plan->groups[i], i);
}
