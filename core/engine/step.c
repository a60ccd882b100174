/* SPDX-License-Identifier: MIT
 *
 * The step block. Rows of the parts follow each other in the given order; the index of a part is
 * the index of its sequence in the step. */
#include "core/engine/step.h"

#include <string.h>

#include "core/engine/device_arbiter.h"

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
	return p->tokens[index];
}

static int64_t n_past(void *ctx, uint32_t seq_slot)
{
	const struct lmi_engine_rows *p = part_of(ctx, seq_slot);

	return p ? p->first : 0;
}

/* ---- filling ---- */

static void fill_rows(const struct lmi_inst *inst, const struct lmi_engine_slot *slot,
		      struct lmi_plan_step *s, const struct lmi_engine_rows *p, uint32_t part)
{
	uint32_t t0 = s->head->n_tok, width = inst->desc.n_input_embd;

	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t row = p->first + i, t = t0 + i;

		if (p->ext) {
			memcpy(slot->ext + (size_t)t * width, p->ext + (size_t)row * width,
			       width * sizeof(float));
			s->token[t] = -1 - (int32_t)t;
		} else {
			s->token[t] = p->tokens[row];
		}
		for (int k = 0; k < 4; k++)
			s->pos[k][t] = p->pos[k] ? p->pos[k][row] : (int32_t)row;
		s->seq_of[t] = (int32_t)part;
		if (s->lora_slot)
			s->lora_slot[t] = p->lora_slot;
	}
	if (s->lora_slot && p->lora_slot)
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
			v = lmi_kv_interval(inst->kv, g, p->first + i, p->first + p->n);
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

/* Makes the changes of a page table by an operation before the step. The device reads the pages
 * late, when the table itself may have changed, so it gets a copy. If there is no room for one, waits
 * until it has read them. */
static enum lmd_status set_table(struct lmi_inst *inst, struct lmi_engine_slot *slot, uint32_t g,
				 struct lmd_pool_op *op, struct lmd_error *err)
{
	bool copied = inst->queue && op->n_row <= inst->n_pages - slot->n_page;
	enum lmd_status st;

	if (copied) {
		memcpy(slot->pages + slot->n_page, op->host, (size_t)op->host_bytes);
		op->host = slot->pages + slot->n_page;
		slot->n_page += op->n_row;
	}
	st = inst->backend->ops.backend->pool_op(inst->dev, inst->queue, inst->pools[g], op, 1, NULL,
						 err);
	return st == LMD_OK && !copied ? lmi_engine_queue_finish(inst, err) : st;
}

/* Puts the page table changes of a sequence into the step; those of a sequence with more than fit
 * are made before it. */
static enum lmd_status fill_changes(struct lmi_inst *inst, struct lmi_engine_slot *slot,
				    struct lmi_plan_step *s, uint32_t g, uint32_t seq,
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
	return set_table(inst, slot, g, &op, err);
}

static enum lmd_status fill_groups(struct lmi_inst *inst, struct lmi_engine_slot *slot,
				   struct lmi_plan_step *s, const struct lmi_engine_rows *p,
				   uint32_t part, struct lmd_error *err)
{
	uint32_t t0 = (uint32_t)s->q_start[part];
	enum lmd_status st = LMD_OK;

	for (uint32_t g = 0; st == LMD_OK && g < inst->desc.n_group; g++) {
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
		st = fill_changes(inst, slot, s, g, p->kv_seq, err);
	}
	return st;
}

static enum lmd_status fill(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t slot,
			    const struct lmi_engine_rows *parts, uint32_t n_part,
			    const struct lmi_engine_step_watch *w, struct lmd_error *err)
{
	struct history h = {.parts = parts, .n_part = n_part};
	struct lmi_plan_step *s = e->step[slot];
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
		st = fill_groups(inst, &inst->slot[slot], s, &parts[i], i, err);
		if (st != LMD_OK)
			return st;
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
static enum lmd_status copy_pages(struct lmi_inst *inst, struct lmd_error *err)
{
	const struct lmi_kv_copy *c;
	uint32_t n = lmi_kv_copies(inst->kv, &c);

	for (uint32_t i = 0; i < n; i++) {
		const struct lmd_pool_op op = {
			.kind = LMD_POOL_COPY_PAGE, .src = c[i].src, .dst = c[i].dst};
		enum lmd_status st = inst->backend->ops.backend->pool_op(
			inst->dev, inst->queue, inst->pools[c[i].group], &op, 1, NULL, err);

		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

static struct lmd_binding input_of(const struct lmi_inst *inst, const struct lmi_engine_exec *e,
				   uint32_t slot, uint32_t *n)
{
	const struct lmi_engine_slot *t = &inst->slot[slot];
	uint64_t row_bytes = (uint64_t)inst->desc.n_input_embd * sizeof(float);

	*n = t->ext && e->view->n_input;
	return (struct lmd_binding){.id = 0,
				    .n_row = e->step[slot]->head->n_tok,
				    .row_bytes = row_bytes,
				    .ptr = t->ext_rows.device ? NULL : t->ext,
				    .buffer = t->ext_rows.device};
}

/* Sends the external rows of the step to the device. */
static enum lmd_status upload(struct lmi_inst *inst, const struct lmi_engine_exec *e, uint32_t slot,
			      struct lmd_error *err)
{
	return lmi_engine_shared_upload(inst, &inst->slot[slot].ext_rows,
					(uint64_t)e->step[slot]->head->n_tok *
						inst->desc.n_input_embd * sizeof(float),
					err);
}

static enum lmd_status prepare(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t slot,
			       const struct lmi_engine_rows *parts, uint32_t n_part,
			       const struct lmi_engine_step_watch *w, struct lmd_error *err)
{
	enum lmd_status st;

	inst->slot[slot].n_page = 0;
	st = fill(inst, e, slot, parts, n_part, w, err);
	if (st == LMD_OK)
		st = copy_pages(inst, err);
	return st == LMD_OK ? upload(inst, e, slot, err) : st;
}

/* Number of rows of the plan's output in this step. */
static uint32_t result_rows(const struct lmi_engine_exec *e, uint32_t slot)
{
	const struct lmd_step_header *h = e->step[slot]->head;

	return e->out_space == LMD_SPACE_SEQS     ? h->n_seq
	       : e->out_space == LMD_SPACE_TOKENS ? h->n_tok
						  : h->n_out;
}

/* Runs the plan and gets its results. */
static enum lmd_status run(struct lmi_inst *inst, struct lmi_engine_exec *e, uint32_t slot,
			   struct lmd_error *err)
{
	const struct lmd_backend_ops *b = inst->backend->ops.backend;
	const struct lmi_engine_shared *rows = &inst->slot[slot].out_rows;
	const uint64_t row_bytes = (uint64_t)e->out_width * sizeof(float);
	const struct lmd_binding out = {.id = e->out_id,
					.n_row = e->out_rows,
					.row_bytes = row_bytes,
					.ptr = rows->device ? NULL : rows->host,
					.buffer = rows->device};
	uint32_t n_in;
	const struct lmd_binding in = input_of(inst, e, slot, &n_in);
	enum lmd_status st = b->plan_run(inst->dev, inst->queue, e->compiled_plan,
					 &e->step[slot]->view, &in, n_in, &out,
					 e->out_id != LMD_NONE, NULL);

	if (st != LMD_OK)
		return lmd_fail(err, st, "%s", b->last_error(inst->dev));
	if (e->out_id == LMD_NONE)
		return LMD_OK;
	return lmi_engine_shared_download(inst, rows, result_rows(e, slot) * row_bytes, err);
}

static struct lmi_engine_exec *exec_for(const struct lmi_inst *inst, uint32_t exec,
					const struct lmi_engine_rows *parts, uint32_t n_part)
{
	uint32_t n_row = 0;

	for (uint32_t i = 0; i < n_part; i++)
		n_row += parts[i].n;
	return lmi_engine_exec_for(inst->execs[exec], n_row);
}

void lmi_engine_step_submit(struct lmi_inst *inst, uint32_t slot, uint32_t exec,
			    const struct lmi_engine_rows *parts, uint32_t n_part,
			    const struct lmi_engine_step_watch *w)
{
	const struct lmd_backend_ops *b = inst->backend->ops.backend;
	struct lmi_engine_slot *t = &inst->slot[slot];
	struct lmi_engine_exec *e = exec_for(inst, exec, parts, n_part);
	struct lmd_error err = {0};
	enum lmd_status st;

	if (!inst->n_running++)
		lmi_device_arbiter_acquire(inst->arbiter, inst->arbiter_id, inst->step_class);
	t->failed = (struct lmd_error){0};
	st = prepare(inst, e, slot, parts, n_part, w, &t->failed);
	if (st == LMD_OK)
		st = run(inst, e, slot, &t->failed);
	t->failed.status = st;
	if (!inst->queue)
		return;
	/* also after a failure: what was submitted must be complete before the slot is used again */
	st = b->event_record(inst->dev, inst->queue, t->event, &err);
	t->recorded = st == LMD_OK;
	if (st != LMD_OK && t->failed.status == LMD_OK) {
		t->failed = err;
		t->failed.status = st;
	}
}

enum lmd_status lmi_engine_step_finish(struct lmi_inst *inst, uint32_t slot, struct lmd_error *err)
{
	struct lmi_engine_slot *t = &inst->slot[slot];
	struct lmd_error failed = t->failed;

	if (t->recorded) {
		const struct lmd_backend_ops *b = inst->backend->ops.backend;
		struct lmd_error late = {0};
		enum lmd_status st = b->event_wait(inst->dev, t->event, 0, &late);

		t->waited = st == LMD_TIMEOUT;
		if (t->waited)
			st = b->event_wait(inst->dev, t->event, UINT64_MAX, &late);
		t->recorded = false;
		if (failed.status == LMD_OK) {
			failed = late;
			failed.status = st;
		}
	}
	if (!--inst->n_running)
		lmi_device_arbiter_release(inst->arbiter);
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
	const struct lmd_backend_ops *b = inst->backend->ops.backend;
	struct lmi_engine_exec *e = inst->execs[exec]; /* the plan that the caller knows */
	struct lmd_binding in;
	enum lmd_status st;
	uint32_t n_in;

	if (!b->plan_observe)
		return lmd_fail(err, LMD_UNSUPPORTED, "backend %s cannot show values",
				inst->backend->f->name);
	lmi_device_arbiter_acquire(inst->arbiter, inst->arbiter_id, inst->step_class);
	st = prepare(inst, e, 0, parts, n_part, NULL, err);
	if (st == LMD_OK)
		st = lmi_engine_queue_finish(inst, err);
	if (st == LMD_OK) {
		in = input_of(inst, e, 0, &n_in);
		st = b->plan_observe(inst->dev, e->compiled_plan, &e->step[0]->view, &in, n_in, fn,
				     arg);
		if (st != LMD_OK)
			(void)lmd_fail(err, st, "%s", b->last_error(inst->dev));
	}
	lmi_device_arbiter_release(inst->arbiter);
	return st;
}
