/* SPDX-License-Identifier: MIT
 *
 * Fills the step block. Rows of the parts follow each other in the given order; the index of a part is
 * the index of its sequence in the step. */
#include "core/engine/step_impl.h"

#include <string.h>

#include "core/engine/draft_tree.h"
#include "core/engine/picture.h"

/* What the row inputs of an architecture may query about sequences. */
struct history {
	const struct lmi_engine_rows *parts;
	uint32_t n_part;
};

static const struct lmi_engine_rows *part_of(const struct history *h, uint32_t seq_slot)
{
	for (uint32_t i = 0; i < h->n_part; i++)
		if (h->parts[i].kv_seq == seq_slot)
			return &h->parts[i];
	return NULL;
}

static lmd_token token_at(void *ctx, uint32_t seq_slot, int64_t index)
{
	const struct lmi_engine_rows *p = part_of(ctx, seq_slot);

	if (!p || !p->tokens || index < 0 || index >= (int64_t)p->first + p->n)
		return -1;
	return lmi_engine_is_picture_row(p->tokens[index]) ? -1 : p->tokens[index];
}

static int64_t n_past(void *ctx, uint32_t seq_slot)
{
	const struct lmi_engine_rows *p = part_of(ctx, seq_slot);

	return p ? p->first : 0;
}

/* Returns the numbers of an external row; NULL: it is a token. */
static const float *external(const struct lmi_engine_rows *p, uint32_t row, uint32_t width)
{
	const struct lmi_engine_seq_picture *x;

	if (p->ext)
		return p->ext + (size_t)row * width;
	if (!p->n_picture || p->encode)
		return NULL;
	x = lmi_engine_picture_at(p->pictures, p->n_picture, row);
	return x ? x->rows + (size_t)(row - x->first) * width : NULL;
}

static void fill_positions(struct lmi_plan_step *s, const struct lmi_engine_rows *p, uint32_t row,
			   uint32_t t)
{
	int32_t pos[4] = {(int32_t)row, (int32_t)row, (int32_t)row, (int32_t)row};

	if (p->n_picture && !p->encode)
		lmi_engine_picture_positions(p->pictures, p->n_picture, row, pos);
	for (int k = 0; k < 4; k++)
		s->pos[k][t] = p->pos[k] ? p->pos[k][row] : pos[k];
}

/* What a DRAFT plan reads. */
static void fill_hidden(const struct lmi_engine_slot *slot, const struct lmi_engine_rows *p,
			uint32_t t0)
{
	size_t width = (size_t)lmi_engine_hidden_input(slot->exec) / sizeof(float);
	float *to = (float *)slot->before_rows.host + t0 * width;

	memcpy(to, p->hidden[0], width * sizeof(*to));
	if (p->n > 1)
		memcpy(to + width, p->hidden[1], (p->n - 1) * width * sizeof(*to));
}

/* Returns the place of a row in the sequence: that of its token. Guesses beside each other have the same. */
static uint32_t place_of(const struct lmi_engine_rows *p, uint32_t i)
{
	uint32_t known = p->n - p->n_out;

	return p->first +
	       (p->tree && i > known ? known + lmi_engine_tree_depth(p->tree, i - known) : i);
}

/* Adds the keys of its own picture to those that a row sees. */
static void see_picture(const struct lmi_engine_rows *p, uint32_t row, struct lmi_kv_span *v)
{
	const struct lmi_engine_seq_picture *x =
		lmi_engine_picture_at(p->pictures, p->n_picture, row);

	if (!x || !x->both_ways)
		return;
	if (v->lo > (int32_t)x->first)
		v->lo = (int32_t)x->first;
	if (v->hi < (int32_t)(x->first + x->n))
		v->hi = (int32_t)(x->first + x->n);
}

/* Which rows of its sequence in this step a row sees. */
static uint64_t sees(const struct lmi_engine_rows *p, uint32_t i)
{
	uint32_t known = p->n - p->n_out, n;
	struct lmi_kv_span v = {.lo = (int32_t)p->first, .hi = (int32_t)(p->first + i + 1)};

	if (p->tree && i > known)
		return lmi_engine_tree_sees(p->tree, i - known) << known | ((1ull << known) - 1);
	if (p->n_picture)
		see_picture(p, p->first + i, &v);
	n = (uint32_t)v.hi - p->first;
	return n < 64 ? (1ull << n) - 1 : UINT64_MAX;
}

static void fill_rows(const struct lmi_inst *inst, const struct lmi_engine_slot *slot,
		      struct lmi_plan_step *s, const struct lmi_engine_rows *p, uint32_t part)
{
	uint32_t t0 = s->head->n_tok, width = inst->desc.n_input_embd;

	if (p->hidden[0])
		fill_hidden(slot, p, t0);
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t row = p->first + i, t = t0 + i;
		const float *ext = external(p, row, width);

		if (ext) {
			memcpy(slot->ext + (size_t)t * width, ext, width * sizeof(float));
			s->token[t] = -1 - (int32_t)t;
		} else {
			s->token[t] = p->tokens[row];
		}
		fill_positions(s, p, place_of(p, i), t);
		if (s->tree)
			s->tree[t] = sees(p, i);
		s->seq_of[t] = (int32_t)part;
		if (s->lora_slot)
			s->lora_slot[t] = row >= p->lora_from ? p->lora_slot : 0;
	}
	if (s->lora_slot && p->lora_slot && p->first + p->n > p->lora_from)
		s->head->flags |= LMD_STEP_LORA;
	for (uint32_t i = p->n - p->n_out; i < p->n; i++)
		s->out_row[s->head->n_out++] = (int32_t)(t0 + i);
	s->q_start[part] = (int32_t)t0;
	s->q_len[part] = (int32_t)p->n;
	s->seq_slot[part] = (int32_t)p->kv_seq;
	s->head->n_tok += p->n;
	s->head->n_seq++;
}

/* Keys in memory: the sequence's earlier rows and those of this step. */
static void fill_paged(struct lmi_inst *inst, struct lmi_plan_step *s, uint32_t g,
		       const struct lmi_engine_rows *p, uint32_t t0)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct lmi_kv_span v = {0, 0};

		if (!p->encode)
			v = lmi_kv_interval(inst->kv, g, place_of(p, i), p->first + p->n);
		if (inst->sees[g] && v.hi - v.lo > (int32_t)inst->sees[g])
			v.lo = v.hi - (int32_t)inst->sees[g];
		if (p->tree)
			v.hi = (int32_t)(p->first + i + 1);
		if (p->n_picture)
			see_picture(p, p->first + i, &v);
		if (v.lo < (int32_t)p->kv_from)
			v.lo = (int32_t)p->kv_from;
		s->group[g].kv_lo[t0 + i] = v.lo;
		s->group[g].kv_hi[t0 + i] = v.hi;
		s->group[g].slot[t0 + i] =
			p->encode ? -1 : lmi_kv_row(inst->kv, g, p->kv_seq, p->first + i);
	}
}

/* Keys of the encoder, which writes them; the decoder sees all of them. */
static void fill_cross(struct lmi_inst *inst, struct lmi_plan_step *s, uint32_t g,
		       const struct lmi_engine_rows *p, uint32_t t0)
{
	int32_t n = (int32_t)lmi_kv_cross(inst->kv, p->kv_seq);

	for (uint32_t i = 0; i < p->n; i++) {
		s->group[g].kv_lo[t0 + i] = 0;
		s->group[g].kv_hi[t0 + i] = p->encode ? 0 : n;
		s->group[g].slot[t0 + i] =
			p->encode ? lmi_kv_row(inst->kv, g, p->kv_seq, p->first + i) : -1;
	}
}

/* The keys are rows of this step. */
static void fill_batch(struct lmi_inst *inst, struct lmi_plan_step *s, uint32_t g,
		       const struct lmi_engine_rows *p, uint32_t t0)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct lmi_kv_span v = lmi_kv_interval(inst->kv, g, i, p->n);

		s->group[g].kv_lo[t0 + i] = v.lo;
		s->group[g].kv_hi[t0 + i] = v.hi;
	}
}

static void fill_state(struct lmi_inst *inst, struct lmi_plan_step *s, uint32_t g,
		       const struct lmi_engine_rows *p, uint32_t t0, uint32_t part)
{
	int32_t *out = s->group[g].state_out + t0;

	s->group[g].state_in[part] = p->encode ? -1 : lmi_kv_state_in(inst->kv, g, p->kv_seq);
	for (uint32_t i = 0; i < p->n; i++)
		out[i] = -1;
	if (p->encode)
		return;
	for (uint32_t i = 0; i < p->n_mark; i++)
		out[p->mark[i] - 1] = lmi_kv_state_mark(inst->kv, g, p->kv_seq, i);
	out[p->n - 1] = lmi_kv_state_out(inst->kv, g, p->kv_seq);
}

/* The plan does not use the group. */
static void fill_unused(struct lmi_plan_step *s, uint32_t g, uint32_t kind, uint32_t n, uint32_t t0,
			uint32_t part)
{
	if (kind == LMD_GROUP_STATE)
		s->group[g].state_in[part] = -1;
	for (uint32_t t = t0; t < t0 + n; t++) {
		if (kind == LMD_GROUP_STATE) {
			s->group[g].state_out[t] = -1;
			continue;
		}
		s->group[g].kv_lo[t] = s->group[g].kv_hi[t] = 0;
		if (kind != LMD_GROUP_BATCH)
			s->group[g].slot[t] = -1;
	}
}

static enum lmd_status fill_groups(struct lmi_inst *inst, const struct lmi_engine_exec *e,
				   struct lmi_engine_slot *slot, struct lmi_plan_step *s,
				   const struct lmi_engine_rows *p, uint32_t part,
				   struct lmd_error *err)
{
	uint32_t t0 = (uint32_t)s->q_start[part];
	enum lmd_status st = LMD_OK;

	for (uint32_t g = 0; st == LMD_OK && g < inst->desc.n_group; g++) {
		if (!(e->groups >> g & 1)) {
			fill_unused(s, g, inst->desc.groups[g].kind, p->n, t0, part);
			continue;
		}
		switch ((enum lmd_group_kind)inst->desc.groups[g].kind) {
		case LMD_GROUP_PAGED:
			fill_paged(inst, s, g, p, t0);
			break;
		case LMD_GROUP_CROSS:
			fill_cross(inst, s, g, p, t0);
			break;
		case LMD_GROUP_BATCH:
			fill_batch(inst, s, g, p, t0);
			continue;
		case LMD_GROUP_STATE:
			fill_state(inst, s, g, p, t0, part);
			continue;
		}
		st = lmi_engine_step_changes(inst, e, slot, s, g, p->kv_seq, err);
	}
	return st;
}

/* The rows of a sequence in the X spaces. */
static void fill_x(const struct lmi_inst *inst, struct lmi_plan_step *s, uint32_t part)
{
	for (uint32_t k = 0; inst->desc.x_ratio && k < inst->desc.n_x; k++) {
		int32_t n = s->q_len[part] / (int32_t)inst->desc.x_ratio[k];

		if (!s->x_off[k])
			continue;
		s->x_off[k][0] = 0;
		s->x_off[k][part + 1] = s->x_off[k][part] + n;
		s->x_h[k][part] = 1;
		s->x_w[k][part] = n;
	}
}

enum lmd_status lmi_engine_step_fill(struct lmi_inst *inst, struct lmi_engine_exec *e,
				     uint32_t slot, const struct lmi_engine_rows *parts,
				     uint32_t n_part, const struct lmi_engine_step_watch *w,
				     struct lmd_error *err)
{
	struct history h = {.parts = parts, .n_part = n_part};
	struct lmi_plan_step *s = e->step[slot][e->first];
	struct lmd_rows_in in = {.struct_size = sizeof(in),
				 .step = &s->view,
				 .ctx = &h,
				 .token_at = token_at,
				 .n_past = n_past};
	struct lmd_rows_out out;
	enum lmd_status st;

	*s->head = (struct lmd_step_header){0};
	s->view.cancel = w ? w->cancel : NULL;
	s->view.progress = w ? w->progress : NULL;
	for (uint32_t i = 0; i < n_part; i++) {
		fill_rows(inst, &inst->slot[slot], s, &parts[i], i);
		st = fill_groups(inst, e, &inst->slot[slot], s, &parts[i], i, err);
		if (st != LMD_OK)
			return st;
		fill_x(inst, s, i);
	}
	if (e->key.bucket)
		lmi_plan_step_pad(s);
	if (!inst->arch->ops.arch->rows || !e->view->n_row_in)
		return LMD_OK;
	memcpy(out.row_in, s->row_in, sizeof(out.row_in));
	st = inst->arch->ops.arch->rows(inst->desc.state, &in, &out);
	return st == LMD_OK ? st
			    : lmd_fail(err, st, "architecture %s: row inputs: %s",
				       inst->model->arch, lmd_status_text(st));
}
