/* SPDX-License-Identifier: MIT
 *
 * The step block. Rows of the parts follow each other in the given order; the index of a part is
 * the index of its sequence in the step. */
#include "core/engine/step.h"

#include <string.h>

#include "core/engine/best.h"
#include "core/engine/draft_tree.h"
#include "core/engine/picture.h"
#include "core/engine/tail.h"

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

/* ---- filling ---- */

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
static void fill_hidden(const struct lmi_engine_slot *slot, const struct lmi_engine_rows *p, uint32_t t0)
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

	return p->first + (p->tree && i > known ? known + lmi_engine_tree_depth(p->tree, i - known) : i);
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

/* Submits an operation on the pools of a group on all devices, and waits for those that will not be
 * waited for at the end of the step, or for all of them. */
static enum lmd_status on_pools(struct lmi_inst *inst, const struct lmi_engine_exec *e, uint32_t g,
				const struct lmd_pool_op *op, bool wait, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device && st == LMD_OK; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		st = d->ops->pool_op(d->state, d->queue, d->pools[g], op, 1, NULL, err);
		if (st == LMD_OK && (wait || !(e->devices & 1u << i)))
			st = lmi_engine_queue_finish(d, err);
		st = lmi_inst_check(inst, d, st, err);
	}
	return st;
}

/* Makes the changes of a page table by an operation before the step. The devices read the pages
 * late, when the table itself may have changed, so they get a copy. If there is no room for one,
 * waits until they have read them. */
static enum lmd_status set_table(struct lmi_inst *inst, const struct lmi_engine_exec *e,
				 struct lmi_engine_slot *slot, uint32_t g, struct lmd_pool_op *op,
				 struct lmd_error *err)
{
	bool copied = op->n_row <= inst->n_pages - slot->n_page;

	if (copied) {
		memcpy(slot->pages + slot->n_page, op->host, (size_t)op->host_bytes);
		op->host = slot->pages + slot->n_page;
		slot->n_page += op->n_row;
	}
	return on_pools(inst, e, g, op, !copied, err);
}

static enum lmd_status change_table(struct lmi_inst_device *d, uint32_t g,
				    const struct lmi_plan_step *s, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < s->head->n_change[g] && st == LMD_OK; i++) {
		struct lmd_page_set *c = &s->group[g].change[i];
		const struct lmd_pool_op op = {.kind = LMD_POOL_SET_TABLE,
					       .src = c->seq_slot,
					       .dst = c->index,
					       .n_row = 1,
					       .host = &c->page,
					       .host_bytes = sizeof(c->page)};

		st = d->ops->pool_op(d->state, d->queue, d->pools[g], &op, 1, NULL, err);
	}
	return st;
}

/* A device that takes no part in the step does not see the changes in its block. */
static enum lmd_status tell_others(struct lmi_inst *inst, const struct lmi_engine_exec *e,
				   const struct lmi_plan_step *s, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_inst_device *d = &inst->devices[i];

		if (e->devices & 1u << i)
			continue;
		for (uint32_t g = 0; g < inst->desc.n_group && st == LMD_OK; g++)
			st = change_table(d, g, s, err);
		if (st == LMD_OK)
			st = lmi_engine_queue_finish(d, err);
		if (st != LMD_OK)
			return lmi_inst_check(inst, d, st, err);
	}
	return LMD_OK;
}

/* Puts the page table changes of a sequence into the step; those of a sequence with more than fit
 * are made before it. */
static enum lmd_status fill_changes(struct lmi_inst *inst, const struct lmi_engine_exec *e,
				    struct lmi_engine_slot *slot, struct lmi_plan_step *s, uint32_t g, uint32_t seq,
				    struct lmd_error *err)
{
	uint32_t *n = &s->head->n_change[g], left = s->group[g].max_change - *n;
	struct lmi_kv_run run;
	struct lmd_pool_op op;

	if (lmi_kv_n_changes(inst->kv, g, seq) <= left) {
		*n += lmi_kv_changes(inst->kv, g, seq, s->group[g].change + *n, left);
		return LMD_OK;
	}
	run = lmi_kv_take_run(inst->kv, g, seq);
	op = (struct lmd_pool_op){.kind = LMD_POOL_SET_TABLE,
				  .src = seq,
				  .dst = run.index,
				  .n_row = run.n,
				  .host = (void *)(uintptr_t)run.pages,
				  .host_bytes = (uint64_t)run.n * sizeof(*run.pages)};
	return set_table(inst, e, slot, g, &op, err);
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
				   struct lmi_engine_slot *slot, struct lmi_plan_step *s, const struct lmi_engine_rows *p,
				   uint32_t part, struct lmd_error *err)
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
		st = fill_changes(inst, e, slot, s, g, p->kv_seq, err);
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

static enum lmd_status fill(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t slot,
			    const struct lmi_engine_rows *parts, uint32_t n_part,
			    const struct lmi_engine_step_watch *w, struct lmd_error *err)
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

/* ---- running ---- */

/* Copies shared pages that this step writes to. */
static enum lmd_status copy_pages(struct lmi_inst *inst, const struct lmi_engine_exec *e,
				  struct lmd_error *err)
{
	const struct lmi_kv_copy *c;
	uint32_t n = lmi_kv_copies(inst->kv, &c);

	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_pool_op op = {
			.kind = LMD_POOL_COPY_PAGE, .src = c[i].src, .dst = c[i].dst};
		enum lmd_status st = on_pools(inst, e, c[i].group, &op, false, err);

		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* Does a segment read the external rows of the step? */
static bool reads_input(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
			const struct lmi_engine_segment *s, uint32_t slot)
{
	if (e->key.kind == LMD_PLAN_DRAFT)
		return e->view->n_input; /* it has one segment */
	return inst->slot[slot].ext && e->view->n_input &&
	       s->device == lmi_engine_place_input(inst);
}

static struct lmd_binding input_of(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
				   uint32_t slot)
{
	bool draft = e->key.kind == LMD_PLAN_DRAFT;
	const struct lmi_engine_shared *rows = draft ? &inst->slot[slot].before_rows
						     : &inst->slot[slot].ext_rows;
	uint64_t row_bytes = draft ? lmi_engine_hidden_input(e)
				   : (uint64_t)inst->desc.n_input_embd * sizeof(float);

	return (struct lmd_binding){.id = 0,
				    .n_row = e->step[slot][e->first]->head->n_tok,
				    .row_bytes = row_bytes,
				    .ptr = rows->device ? NULL : rows->host,
				    .buffer = rows->device};
}

/* Sends the external rows of the step to the device. */
static enum lmd_status upload(struct lmi_inst *inst, const struct lmi_engine_exec *e, uint32_t slot,
			      struct lmd_error *err)
{
	bool draft = e->key.kind == LMD_PLAN_DRAFT;
	struct lmi_inst_device *d =
		&inst->devices[draft ? inst->draft_device : lmi_engine_place_input(inst)];
	const struct lmi_engine_shared *rows = draft ? &inst->slot[slot].before_rows
						     : &inst->slot[slot].ext_rows;
	uint64_t row_bytes = draft ? lmi_engine_hidden_input(e)
				   : (uint64_t)inst->desc.n_input_embd * sizeof(float);
	uint64_t bytes = e->step[slot][e->first]->head->n_tok * row_bytes;

	return lmi_inst_check(inst, d, lmi_engine_shared_upload(d, rows, bytes, err), err);
}

/* Gives the other devices of the plan the same step. */
static void copy_step(const struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t slot)
{
	const struct lmi_plan_step *s = e->step[slot][e->first];

	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_plan_step *to = e->step[slot][i];

		if (!to || to == s)
			continue;
		memcpy(to->block, s->block, (size_t)e->layout.bytes);
		to->view.cancel = s->view.cancel;
		to->view.progress = s->view.progress;
	}
}

static enum lmd_status prepare(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t slot,
			       const struct lmi_engine_rows *parts, uint32_t n_part,
			       const struct lmi_engine_step_watch *w, struct lmd_error *err)
{
	enum lmd_status st;

	inst->slot[slot].n_page = 0;
	st = fill(inst, e, slot, parts, n_part, w, err);
	if (st == LMD_OK)
		st = tell_others(inst, e, e->step[slot][e->first], err);
	if (st == LMD_OK)
		st = copy_pages(inst, e, err);
	copy_step(inst, e, slot);
	return st == LMD_OK ? upload(inst, e, slot, err) : st;
}

/* Number of rows of the plan's output in this step. */
static uint32_t result_rows(const struct lmi_engine_exec *e, uint32_t slot)
{
	const struct lmi_plan_step *s = e->step[slot][e->first];
	const struct lmd_step_header *h = s->head;

	if (e->out_space >= LMD_SPACE_X0)
		return (uint32_t)s->x_off[e->out_space - LMD_SPACE_X0][h->n_seq];
	return e->out_space == LMD_SPACE_SEQS     ? h->n_seq
	       : e->out_space == LMD_SPACE_TOKENS ? h->n_tok
						  : h->n_out;
}

/* Copies the results to the host, except those from which the device chooses tokens or candidates. */
static enum lmd_status download(struct lmi_inst_device *d, const struct lmi_engine_exec *e,
				const struct lmi_engine_slot *t, uint32_t slot,
				const struct lmi_engine_shared *rows, struct lmd_error *err)
{
	const uint64_t row_bytes = (uint64_t)e->out_width * sizeof(float);
	uint64_t at = 0, n = 0; /* rows [at, at + n) are to be copied */
	enum lmd_status st = LMD_OK;

	if (!t->samples && !t->bests)
		return lmi_engine_shared_download(d, rows, 0, result_rows(e, slot) * row_bytes,
						  err);
	for (uint32_t i = 0; i < t->n_part && st == LMD_OK; i++) {
		if (!t->parts[i].stages && !t->parts[i].best) {
			n += t->parts[i].n_out;
			continue;
		}
		st = lmi_engine_shared_download(d, rows, at * row_bytes, n * row_bytes, err);
		at += n + t->parts[i].n_out;
		n = 0;
	}
	return st == LMD_OK ? lmi_engine_shared_download(d, rows, at * row_bytes, n * row_bytes,
							 err)
			    : st;
}

static enum lmd_status run_segment(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t index,
				   uint32_t slot, struct lmd_error *err)
{
	struct lmi_engine_segment *s = &e->segments[index];
	struct lmi_inst_device *d = &inst->devices[s->device];
	const struct lmi_engine_shared *rows = &inst->slot[slot].out_rows[s->device];
	const uint64_t row_bytes = (uint64_t)e->out_width * sizeof(float);
	const struct lmi_engine_shared *hidden =
		lmi_engine_hidden_rows(&inst->slot[slot], e, s->device);
	const uint64_t hidden_bytes = (uint64_t)lmi_engine_hidden_width(inst, e) * sizeof(float);
	bool has_out = e->out_id != LMD_NONE && index == e->out_segment;
	bool has_hidden = index == e->hidden_segment;
	uint32_t n_in = 0, n_out;
	enum lmd_status st = lmi_engine_links_bring(inst, e, s, slot, &n_in, err);

	if (st != LMD_OK)
		return st;
	if (reads_input(inst, e, s, slot))
		s->bindings[n_in++] = input_of(inst, e, slot);
	n_out = lmi_engine_links_bind_out(inst, s, slot, s->bindings + n_in);
	if (has_out)
		s->bindings[n_in + n_out++] =
			(struct lmd_binding){.id = e->out_id,
					     .n_row = e->out_rows,
					     .row_bytes = row_bytes,
					     .ptr = rows->device ? NULL : rows->host,
					     .buffer = rows->device};
	if (has_hidden)
		s->bindings[n_in + n_out++] =
			(struct lmd_binding){.id = LMD_OUT_TAP,
					     .n_row = inst->n_batch,
					     .row_bytes = hidden_bytes,
					     .ptr = hidden->device ? NULL : hidden->host,
					     .buffer = hidden->device};
	st = d->ops->plan_run(d->state, d->queue, s->compiled_plan,
			      &e->step[slot][s->device]->view, s->bindings, n_in, s->bindings + n_in,
			      n_out, NULL);
	if (st != LMD_OK)
		(void)lmd_fail(err, st, "%s", d->ops->last_error(d->state));
	if (st == LMD_OK && has_out)
		st = download(d, e, &inst->slot[slot], slot, rows, err);
	if (st == LMD_OK && has_hidden)
		st = lmi_engine_shared_download(
			d, hidden, 0, e->step[slot][e->first]->head->n_tok * hidden_bytes, err);
	if (st == LMD_OK)
		st = lmi_engine_links_leave(inst, e, s, slot, err);
	return lmi_inst_check(inst, d, st, err);
}

/* Runs the plan and gets its results. */
static enum lmd_status run(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t slot,
			   struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	/* the ranks of a group wait for each other: all of them have to be submitted. They have no links, so that
	 * nothing fails before that */
	for (uint32_t i = 0; i < e->n_segment && (st == LMD_OK || e->grouped); i++) {
		struct lmd_error other;
		enum lmd_status now = run_segment(inst, e, i, slot, st == LMD_OK ? err : &other);

		st = st == LMD_OK ? now : st;
	}
	if (st == LMD_OK && inst->slot[slot].bests)
		st = lmi_engine_best_run(inst, inst->best, e, slot, result_rows(e, slot), err);
	if (st == LMD_OK && inst->slot[slot].samples)
		st = lmi_engine_tail_run(inst, inst->tail, e, slot, inst->slot[slot].parts,
					 inst->slot[slot].n_part, err);
	return st;
}

static uint32_t count_rows(const struct lmi_engine_rows *parts, uint32_t n_part)
{
	uint32_t n_row = 0;

	for (uint32_t i = 0; i < n_part; i++)
		n_row += parts[i].n;
	return n_row;
}

static struct lmi_engine_exec *exec_for(const struct lmi_inst *inst, uint32_t exec,
					const struct lmi_engine_rows *parts, uint32_t n_part,
					uint32_t n_row)
{
	bool masks = false;

	for (uint32_t i = 0; i < n_part; i++)
		masks |= parts[i].tree != NULL;
	return lmi_engine_exec_for(masks ? inst->execs[exec]->tree : inst->execs[exec], n_row);
}

/* Records the end of the step on the devices; also after a failure: what was submitted must be
 * complete before the slot is used again. */
static void record(struct lmi_inst *inst, const struct lmi_engine_exec *e, uint32_t slot)
{
	struct lmi_engine_slot *t = &inst->slot[slot];

	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_inst_device *d = &inst->devices[i];
		struct lmd_error err = {0};
		enum lmd_status st;

		if (!d->queue || !(e->devices & 1u << i))
			continue;
		st = d->ops->event_record(d->state, d->queue, d->done[slot], &err);
		d->recorded[slot] = st == LMD_OK;
		if (lmi_inst_check(inst, d, st, &err) != LMD_OK && t->failed.status == LMD_OK) {
			t->failed = err;
			t->failed.status = st;
		}
	}
}

void lmi_engine_step_submit(struct lmi_inst *inst, uint32_t slot, uint32_t exec,
			    const struct lmi_engine_rows *parts, uint32_t n_part,
			    const struct lmi_engine_step_watch *w)
{
	struct lmi_engine_slot *t = &inst->slot[slot];
	uint32_t n_row = count_rows(parts, n_part);
	struct lmi_engine_exec *e = exec_for(inst, exec, parts, n_part, n_row);
	enum lmd_status st;

	if (!inst->n_running++)
		lmi_inst_hold(inst);
	for (uint32_t i = 0; i < inst->n_device; i++)
		lmi_engine_device_choose_threads(inst->devices[i].open, n_row);
	t->failed = (struct lmd_error){0};
	t->exec = e;
	t->parts = parts;
	t->n_part = n_part;
	t->samples = t->bests = false;
	for (uint32_t i = 0; i < n_part; i++) {
		t->samples |= parts[i].stages != NULL;
		t->bests |= parts[i].best;
	}
	t->out = t->out_rows[e->segments[e->out_segment].device].host;
	t->hidden = e->hidden_segment == LMD_NONE
			    ? NULL
			    : lmi_engine_hidden_rows(t, e, e->segments[e->hidden_segment].device)->host;
	st = prepare(inst, e, slot, parts, n_part, w, &t->failed);
	if (st == LMD_OK)
		st = run(inst, e, slot, &t->failed);
	t->failed.status = st;
	record(inst, e, slot);
}

/* Waits for one device. */
static enum lmd_status finish_on(struct lmi_inst *inst, struct lmi_inst_device *d, uint32_t slot,
				 struct lmd_error *err)
{
	enum lmd_status st;

	if (!d->recorded[slot])
		return LMD_OK;
	d->recorded[slot] = false;
	st = d->ops->event_wait(d->state, d->done[slot], 0, err);
	if (st == LMD_TIMEOUT) {
		inst->slot[slot].waited = true;
		st = d->ops->event_wait(d->state, d->done[slot], UINT64_MAX, err);
	}
	return lmi_inst_check(inst, d, st, err);
}

enum lmd_status lmi_engine_step_finish(struct lmi_inst *inst, uint32_t slot, struct lmd_error *err)
{
	struct lmi_engine_slot *t = &inst->slot[slot];
	struct lmd_error failed = t->failed, late[2] = {0};
	enum lmd_status st = LMD_OK;

	t->waited = false;
	/* the ranks of a group are cancelled when one of them has failed, which is the cause */
	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmd_error now = {0};
		enum lmd_status one = finish_on(inst, &inst->devices[i], slot, &now);

		if (one != LMD_OK && (st == LMD_OK || st == LMD_CANCELLED)) {
			st = one;
			late[1] = now;
			late[1].status = st;
		}
	}
	/* what left a segment failed before what was computed from it */
	late[0].status = lmi_engine_links_result(inst, t->exec, slot, &late[0]);
	for (uint32_t i = 0; i < 2 && failed.status == LMD_OK; i++)
		failed = late[i];
	if (!--inst->n_running)
		lmi_inst_let_go(inst);
	if (lmi_engine_guard_is_bad(&inst->guard))
		return lmd_fail(err, LMD_IO,
				"%s: the file was truncated while the model was in use",
				inst->model->name);
	if (failed.status != LMD_OK && err)
		*err = failed;
	return failed.status;
}

enum lmd_status lmi_engine_step_run(struct lmi_inst *inst, uint32_t exec,
				    const struct lmi_engine_rows *parts, uint32_t n_part,
				    const struct lmi_engine_step_watch *w, struct lmd_error *err)
{
	lmi_engine_step_submit(inst, 0, exec, parts, n_part, w);
	return lmi_engine_step_finish(inst, 0, err);
}

enum lmd_status lmi_engine_step_observe(struct lmi_inst *inst, uint32_t exec,
					const struct lmi_engine_rows *parts, uint32_t n_part,
					lmd_observe_fn fn, void *arg, struct lmd_error *err)
{
	struct lmi_engine_exec *e = inst->execs[exec]; /* the plan that the caller knows */
	bool stopped = false;
	enum lmd_status st;

	lmi_inst_hold(inst);
	st = prepare(inst, e, 0, parts, n_part, NULL, err);
	for (uint32_t i = 0; i < e->n_segment && st == LMD_OK && !stopped; i++) {
		const struct lmd_binding in = input_of(inst, e, 0);

		st = lmi_engine_observe_segment(inst, e, i, 0,
						reads_input(inst, e, &e->segments[i], 0) ? &in
											 : NULL,
						fn, arg, &stopped, err);
	}
	lmi_inst_let_go(inst);
	return st;
}
