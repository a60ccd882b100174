/* SPDX-License-Identifier: MIT
 *
 * Runs steps: the block is filled, sent to the devices and run segment by segment. */
#include "core/engine/step.h"

#include <string.h>

#include "core/engine/best.h"
#include "core/engine/step_impl.h"
#include "core/engine/tail.h"

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
	st = lmi_engine_step_fill(inst, e, slot, parts, n_part, w, err);
	if (st == LMD_OK)
		st = lmi_engine_step_tell_others(inst, e, e->step[slot][e->first], err);
	if (st == LMD_OK)
		st = lmi_engine_step_copy_pages(inst, e, err);
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
