/* SPDX-License-Identifier: MIT
 *
 * One turn of the engine: take commands, let the scheduler choose a step, run it, report the
 * results. All state here belongs to the engine's thread. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"

static void fill_part(struct lmi_engine *e, const struct lmi_sched_part *p, uint32_t i)
{
	struct lmi_engine_seq *q = e->seq_of[p->seq];

	if (q->session->gen)
		lmi_engine_gen_begin(q->session->gen, e->inst->host->now_ns(e->inst->host->ctx));
	e->part_seq[i] = q;
	e->session_of[i] = q->session;
	e->parts[i] = (struct lmi_engine_rows){
		.kv_seq = p->kv_seq,
		.first = p->first,
		.n = p->n,
		.n_out = p->n_out,
		.n_mark = p->n_mark,
		.mark = p->mark,
		.encode = p->encode,
		.tokens = p->encode ? q->enc : q->tokens,
		.ext = p->encode ? NULL : q->ext,
		.lora_slot = q->adapter,
	};
	for (int k = 0; k < 4 && !p->encode; k++)
		e->parts[i].pos[k] = lmi_engine_seq_pos(q, k);
}

/* A step has the class of its most urgent sequence. */
static enum lmi_engine_class class_of(const struct lmi_engine *e, uint32_t n_part)
{
	enum lmi_engine_class best = LMI_ENGINE_CLASS_BATCH;

	for (uint32_t i = 0; i < n_part; i++)
		if (e->session_of[i]->class < best)
			best = e->session_of[i]->class;
	return best;
}

static uint64_t only_session(const struct lmi_engine *e, uint32_t n_part)
{
	for (uint32_t i = 1; i < n_part; i++)
		if (e->session_of[i] != e->session_of[0])
			return 0;
	return e->session_of[0]->id;
}

static enum lmd_status run_step(struct lmi_engine *e, const struct lmi_sched_step *step,
				struct lmd_error *err)
{
	const struct lmi_engine_step_watch w = {.cancel = (const volatile int32_t *)&e->cancel_word,
						.progress = (volatile uint32_t *)&e->progress};
	enum lmd_status st;

	for (uint32_t i = 0; i < step->n_part; i++)
		fill_part(e, &step->parts[i], i);
	e->inst->step_class = class_of(e, step->n_part);
	atomic_store(&e->cancel_word, atomic_load(&e->stopping));
	atomic_store(&e->only_id, only_session(e, step->n_part));
	st = lmi_engine_step_run(e->inst, step->plan, e->parts, step->n_part, &w, err);
	atomic_store(&e->only_id, 0);
	if (st == LMD_OK)
		atomic_fetch_add(&e->progress, 1);
	return st;
}

/* Clears the sequences of parts from `part` on that belong to an ended session. */
static void forget(struct lmi_engine *e, const struct lmi_engine_job *gone, uint32_t part,
		   uint32_t n_part)
{
	for (uint32_t k = part; k < n_part; k++)
		if (e->session_of[k] == gone)
			e->part_seq[k] = NULL;
}

static void hand_out(struct lmi_engine *e, uint32_t plan, uint32_t n_part)
{
	const struct lmi_engine_exec *x = e->inst->execs[plan];
	const float *rows = e->inst->out;

	for (uint32_t i = 0; i < n_part; i++) {
		const struct lmi_engine_rows *p = &e->parts[i];

		if (e->part_seq[i] && !p->encode && !lmi_engine_results_report(e, x, i, rows))
			forget(e, e->session_of[i], i, n_part);
		rows += (size_t)p->n_out * x->out_width;
	}
}

/* After a failed step, fails its sessions; if the device or the file was lost, fails all
 * sessions. */
static void give_up(struct lmi_engine *e, uint32_t n_part, const struct lmd_error *err)
{
	if (err->status == LMD_IO || err->status == LMD_DEVICE) {
		e->broken = *err;
		atomic_store(&e->is_broken, true); /* e->broken is not written after this */
		while (e->sessions)
			lmi_engine_fail(e, e->sessions, err);
		return;
	}
	for (uint32_t i = 0; i < n_part; i++) {
		if (!e->part_seq[i])
			continue;
		lmi_engine_fail(e, e->session_of[i], err);
		forget(e, e->session_of[i], i, n_part);
	}
}

static void publish(struct lmi_engine *e)
{
	struct lmi_sched_stats s;
	struct lmi_kv_stats k;

	lmi_sched_stats(e->sched, &s);
	lmi_kv_stats(e->inst->kv, &k);
	e->count.n_step = s.n_step;
	e->count.n_row = s.n_row;
	e->count.n_preempted = s.n_preempted;
	e->count.n_shared_rows = s.n_shared_rows;
	e->count.n_waiting = s.n_waiting;
	e->count.n_active = s.n_active;
	for (uint32_t g = 0; g < e->inst->desc.n_group; g++) {
		e->count.n_page[g] = k.n_page[g];
		e->count.n_free[g] = k.n_free[g];
	}
}

/* Drops the retained sequence once its successor has copied the prefix. */
static void drop_after_successor(struct lmi_engine *e)
{
	if (e->retained && e->successor != LMI_SCHED_NO_SEQ &&
	    lmi_sched_n_done(e->sched, e->successor)) {
		lmi_engine_retained_drop(e);
		e->successor = LMI_SCHED_NO_SEQ;
	}
}

static bool step(struct lmi_engine *e)
{
	struct lmi_sched_step step;
	struct lmd_error err = {0};
	enum lmd_status st;
	uint32_t n_part, plan;

	if (!lmi_sched_next(e->sched, NULL, &step))
		return false;
	n_part = step.n_part;
	plan = step.plan;
	st = run_step(e, &step, &err);
	lmi_sched_commit(e->sched, st == LMD_OK, NULL);
	drop_after_successor(e);
	if (st == LMD_OK)
		hand_out(e, plan, n_part);
	else if (st != LMD_CANCELLED) /* cut short: the cancelling command is in the queue */
		give_up(e, n_part, &err);
	return true;
}

enum lmi_engine_step_result lmi_engine_run_once(struct lmi_engine *e)
{
	enum lmi_engine_step_result t = LMI_ENGINE_STEP_IDLE;
	uint64_t allocs;

	lmi_engine_commands_take(e);
	e->evaluated = false;
	allocs = lmi_alloc_thread_count();
	if (lmi_engine_event_ring_room(&e->events) < lmi_engine_event_emit_room(e))
		t = LMI_ENGINE_STEP_EVENTS_FULL;
	else if (step(e))
		t = LMI_ENGINE_STEP_RAN;
	else if (e->retained && e->sessions) { /* it blocks another session */
		lmi_engine_retained_drop(e);
		t = step(e) ? LMI_ENGINE_STEP_RAN : t;
	}
	publish(e);
	lmi_engine_event_emit_flush(e);
	if (!e->evaluated)
		e->count.step_allocs += lmi_alloc_thread_count() - allocs;
	return t;
}
