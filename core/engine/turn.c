/* SPDX-License-Identifier: MIT
 *
 * One turn of the engine: take commands, let the scheduler choose a step, run it, hand out
 * what it gave.  All state here belongs to the engine's thread. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/engine_impl.h"

/* ---- events ---- */

struct lmi_event *lmi_emit(struct lmi_engine *e, const struct lmi_session *s,
			   enum lmi_event_kind kind)
{
	struct lmi_event *ev;

	if (e->pushed) /* the one before is complete now */
		lmi_event_ring_push(&e->events);
	ev = lmi_event_ring_next(&e->events);
	ev->id = s->id;
	ev->kind = kind;
	e->pushed = true;
	e->urgent |= kind != LMI_EV_TOKEN && kind != LMI_EV_TEXT;
	return ev;
}

/* Events that must have room before a step: what it may write, beside a final event for each that
 * lives. */
static uint32_t room_for_step(const struct lmi_engine *e)
{
	return e->events_per_seq * e->inst->n_seq + atomic_load(&e->n_live) + 1;
}

/* Does the reader not want to hear of it yet?  It is told of a queue that is half full, or so full
 * that no step can run. */
static bool is_left_alone(const struct lmi_engine *e)
{
	const struct lmd_host *host = e->inst->host;
	uint64_t until = atomic_load(&e->doze_ns);
	uint32_t room = lmi_event_ring_room(&e->events);

	return until && !e->urgent && room >= e->events.size / 2 && room >= room_for_step(e) &&
	       host->now_ns(host->ctx) < until;
}

/* Makes the last event readable and tells the reader. */
static void flush(struct lmi_engine *e)
{
	if (!e->pushed)
		return;
	lmi_event_ring_push(&e->events);
	if (!is_left_alone(e))
		lmi_event_ring_wake(&e->events);
	e->pushed = e->urgent = false;
}

/* ---- sessions ---- */

static void link_session(struct lmi_engine *e, struct lmi_session *s)
{
	s->prev = NULL;
	s->next = e->sessions;
	if (s->next)
		s->next->prev = s;
	e->sessions = s;
}

static void leave_sched(struct lmi_engine *e, struct lmi_seq *q)
{
	if (q->handle == LMI_NO_SEQ)
		return;
	lmi_sched_remove(e->sched, q->handle);
	e->seq_of[q->handle] = NULL;
	if (e->heir == q->handle)
		e->heir = LMI_NO_SEQ;
	q->handle = LMI_NO_SEQ;
}

static void unlink_session(struct lmi_engine *e, struct lmi_session *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		e->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
}

static void free_session(struct lmi_engine *e, struct lmi_session *s)
{
	for (uint32_t i = 0; i < s->n_seq; i++)
		leave_sched(e, &s->seqs[i]);
	atomic_fetch_sub(&e->n_live, s->n_seq);
	lmi_session_destroy(s);
}

static void drop_kept(struct lmi_engine *e)
{
	if (e->kept)
		free_session(e, e->kept);
	e->kept = NULL;
}

/* After the final event. */
static void end_session(struct lmi_engine *e, struct lmi_session *s)
{
	unlink_session(e, s);
	if (!s->keep || s->seqs[0].handle == LMI_NO_SEQ ||
	    !lmi_sched_rest(e->sched, s->seqs[0].handle)) {
		free_session(e, s);
		return;
	}
	drop_kept(e);
	e->kept = s;
}

static void fail_session(struct lmi_engine *e, struct lmi_session *s, const struct lmd_error *err)
{
	lmi_emit(e, s, LMI_EV_FAILED)->u.error = *err;
	unlink_session(e, s);
	free_session(e, s);
}

static void cancel_session(struct lmi_engine *e, struct lmi_session *s)
{
	struct lmi_event *ev = lmi_emit(e, s, LMI_EV_CANCELLED);

	memset(&ev->u.done, 0, sizeof(ev->u.done));
	if (s->gen)
		lmi_gen_report(s->gen, ev);
	end_session(e, s);
}

/* Rows that a generation begins with and that the kept one has computed; 0 = none.  One row
 * at least is left to be computed. */
static uint32_t rows_in_common(const struct lmi_engine *e, const struct lmi_seq *q)
{
	const struct lmi_seq *k = e->kept ? &e->kept->seqs[0] : NULL;
	uint32_t n = 0, most;

	if (!k || !q->session->gen || q->n_enc || k->n_enc || q->n_plane || k->n_plane ||
	    q->adapter != k->adapter)
		return 0;
	most = lmi_sched_n_done(e->sched, k->handle);
	most = most < k->n_tokens ? most : k->n_tokens;
	most = most < q->n_tokens - 1 ? most : q->n_tokens - 1;
	while (n < most && q->tokens[n] == k->tokens[n])
		n++;
	return n;
}

static enum lmd_status start_seq(struct lmi_engine *e, struct lmi_seq *q, struct lmd_error *err)
{
	struct lmi_sched_seq o = {.share = LMI_NO_SEQ};
	enum lmd_status st = e->driver->start(e->inst, q, &o, err);

	if (st != LMD_OK)
		return st;
	if (q->fork_of != LMI_NO_FORK) {
		o.share = q->session->seqs[q->fork_of].handle;
		o.share_rows = q->fork_at;
	} else if (e->kept) {
		o.share_rows = rows_in_common(e, q);
		if (o.share_rows)
			o.share = e->kept->seqs[0].handle;
		else
			drop_kept(e);
	}
	st = lmi_sched_submit(e->sched, &o, &q->handle, err);
	if (st != LMD_OK)
		return st;
	e->seq_of[q->handle] = q;
	if (q->fork_of == LMI_NO_FORK && e->kept)
		e->heir = q->handle;
	return st;
}

static void start_session(struct lmi_engine *e, struct lmi_session *s)
{
	struct lmd_error err = e->broken;
	enum lmd_status st = err.status;

	link_session(e, s);
	for (uint32_t i = 0; i < s->n_seq && st == LMD_OK; i++)
		st = start_seq(e, &s->seqs[i], &err);
	if (st != LMD_OK)
		fail_session(e, s, &err);
}

static void cancel_id(struct lmi_engine *e, uint64_t id)
{
	for (struct lmi_session *s = e->sessions; s; s = s->next) {
		if (s->id == id) {
			cancel_session(e, s);
			return;
		}
	}
}

static void take_orders(struct lmi_engine *e)
{
	struct lmi_order o;

	while (lmi_order_ring_pop(&e->orders, &o)) {
		if (!o.start)
			cancel_id(e, o.cancel);
		else
			start_session(e, o.start);
	}
	while (atomic_load(&e->stopping) && e->sessions)
		cancel_session(e, e->sessions);
	if (atomic_load(&e->stopping))
		drop_kept(e);
}

bool lmi_engine_is_quiet(struct lmi_engine *e)
{
	return !e->sessions && !e->kept && !atomic_load(&e->orders.n);
}

/* ---- results ---- */

/* -log softmax(logits)[id], in double: sums over a vocabulary lose digits in float. */
static float neg_log_prob(const float *logits, uint32_t n, lmd_token id)
{
	double sum = 0, most = -INFINITY;

	for (uint32_t i = 0; i < n; i++)
		most = logits[i] > most ? logits[i] : most;
	for (uint32_t i = 0; i < n; i++)
		sum += exp((double)logits[i] - most);
	return (float)(log(sum) - ((double)logits[id] - most));
}

/* Queues a block of n rows; false without memory. */
static bool emit_rows(struct lmi_engine *e, const struct lmi_seq *q, uint32_t first, uint32_t n,
		      uint32_t width, float **v)
{
	struct lmi_event *ev;

	e->evaluated = true;
	*v = lmi_alloc((size_t)n * width, sizeof(**v));
	if (!*v)
		return false;
	ev = lmi_emit(e, q->session, LMI_EV_ROWS);
	ev->u.rows.seq = q->index;
	ev->u.rows.first = first;
	ev->u.rows.n = n;
	ev->u.rows.width = width;
	ev->u.rows.v = *v;
	return true;
}

static bool eval_nll(struct lmi_engine *e, const struct lmi_seq *q, uint32_t first, uint32_t n,
		     const float *logits, uint32_t width)
{
	float *v;

	if (first + n == q->n_rows)
		n--; /* nothing follows the last row */
	if (!n)
		return true;
	if (!emit_rows(e, q, first, n, 1, &v))
		return false;
	for (uint32_t i = 0; i < n; i++)
		v[i] = neg_log_prob(logits + (size_t)i * width, width, q->tokens[first + i + 1]);
	return true;
}

/* Hands out what a part of the step gave; false without memory. */
static bool eval_results(struct lmi_engine *e, const struct lmi_exec *x, const struct lmi_rows *p,
			 const struct lmi_seq *q, uint32_t part, const float *rows)
{
	const struct lmi_session *s = q->session;
	uint32_t first = p->first + p->n - p->n_out, n = p->n_out;
	float *v;

	if (s->want == LMI_WANT_EMBED && s->pooling != LMD_POOL_NONE) {
		if (p->first + p->n < q->n_rows)
			return true; /* LAST: the vector of a part that is not the last */
		rows = e->inst->out + (size_t)part * x->out_width;
		first = 0;
		n = 1;
	}
	if (!n)
		return true;
	if (s->want == LMI_WANT_NLL)
		return eval_nll(e, q, first, n, rows, x->out_width);
	if (!emit_rows(e, q, first, n, x->out_width, &v))
		return false;
	memcpy(v, rows, (size_t)n * x->out_width * sizeof(*v));
	return true;
}

/* False when the session is gone. */
static bool eval_part(struct lmi_engine *e, const struct lmi_exec *x, uint32_t part,
		      const float *rows)
{
	const struct lmi_rows *p = &e->parts[part];
	struct lmi_seq *q = e->part_seq[part];
	struct lmi_session *s = q->session;

	if (!eval_results(e, x, p, q, part, rows)) {
		struct lmd_error err;

		(void)lmd_fail(&err, LMD_NOMEM, "no memory for %u rows of %u results", p->n_out,
			       x->out_width);
		fail_session(e, s, &err);
		return false;
	}
	if (p->first + p->n < q->n_rows)
		return true;
	leave_sched(e, q);
	if (--s->n_left)
		return true;
	lmi_emit(e, s, LMI_EV_DONE)->u.done.finish = LMI_FINISH_NONE;
	end_session(e, s);
	return false;
}

/* Text in as many events as it takes; the first one carries the token. */
static void emit_text(struct lmi_engine *e, const struct lmi_session *s,
		      const struct lmi_gen_step *g)
{
	enum lmi_event_kind kind = LMI_EV_TOKEN;
	size_t at = 0;

	do {
		size_t n = g->n_text - at < LMI_EVENT_TEXT ? g->n_text - at : LMI_EVENT_TEXT;
		struct lmi_event *ev = lmi_emit(e, s, kind);

		ev->u.text.token = g->token;
		ev->u.text.n = (uint32_t)n;
		memcpy(ev->u.text.bytes, g->text + at, n);
		at += n;
		kind = LMI_EV_TEXT;
	} while (at < g->n_text);
}

static void fail_generation(struct lmi_engine *e, struct lmi_session *s, enum lmd_status st)
{
	struct lmd_error err;

	(void)lmd_fail(&err, st, "sampling: %s",
		       st == LMD_NOTFOUND ? "the grammar allows no token here"
					  : lmd_status_text(st));
	fail_session(e, s, &err);
}

/* Says what a token gave; false when it was the last one. */
static bool tell_token(struct lmi_engine *e, struct lmi_seq *q, const struct lmi_gen_step *g)
{
	bool grown;

	if (g->token >= 0) {
		atomic_fetch_add_explicit(&e->count.n_generated, 1, memory_order_relaxed);
		emit_text(e, q->session, g);
	}
	if (g->finish != LMI_FINISH_NONE)
		return false;
	grown = lmi_sched_grow(e->sched, q->handle);
	assert(grown); /* there was room in the tokens */
	(void)grown;
	return true;
}

/* Takes tokens that come without a choice, so that the next step computes them all.  What finds no
 * room among the events is taken in the next step. */
static enum lmd_status take_forced(struct lmi_engine *e, struct lmi_seq *q, uint32_t n_logits,
				   struct lmi_gen_step *g)
{
	const struct lmd_host *host = e->inst->host;

	for (uint32_t i = 0; i < LMI_JUMP_MAX && g->finish == LMI_FINISH_NONE; i++) {
		enum lmd_status st;

		if (lmi_event_ring_room(&e->events) < room_for_step(e) + e->events_per_seq + 1)
			break;
		st = lmi_gen_forced(q->session->gen, q, n_logits, q->n_tokens < q->cap,
				    host->now_ns(host->ctx), g);
		if (st != LMD_OK || g->token < 0)
			return st;
		atomic_fetch_add_explicit(&e->count.n_forced, 1, memory_order_relaxed);
		(void)tell_token(e, q, g);
	}
	return LMD_OK;
}

/* False when the session is gone. */
static bool gen_part(struct lmi_engine *e, const struct lmi_exec *x, uint32_t part,
		     const float *logits)
{
	struct lmi_seq *q = e->part_seq[part];
	struct lmi_session *s = q->session;
	struct lmi_gen_step g;
	enum lmd_status st;

	if (!e->parts[part].n_out)
		return true;
	st = lmi_gen_next(s->gen, q, logits, x->out_width, q->n_tokens < q->cap,
			  e->inst->host->now_ns(e->inst->host->ctx), &g);
	if (st == LMD_OK && tell_token(e, q, &g))
		st = take_forced(e, q, x->out_width, &g);
	if (st != LMD_OK) {
		fail_generation(e, s, st);
		return false;
	}
	if (g.finish == LMI_FINISH_NONE)
		return true;
	lmi_gen_report(s->gen, lmi_emit(e, s, LMI_EV_DONE));
	end_session(e, s);
	return false;
}

/* ---- the step ---- */

static void fill_part(struct lmi_engine *e, const struct lmi_sched_part *p, uint32_t i)
{
	struct lmi_seq *q = e->seq_of[p->seq];

	if (q->session->gen)
		lmi_gen_begin(q->session->gen, e->inst->host->now_ns(e->inst->host->ctx));
	e->part_seq[i] = q;
	e->session_of[i] = q->session;
	e->parts[i] = (struct lmi_rows){
		.kv_seq = p->kv_seq,
		.first = p->first,
		.n = p->n,
		.n_out = p->n_out,
		.mark = p->mark,
		.encode = p->encode,
		.tokens = p->encode ? q->enc : q->tokens,
		.ext = p->encode ? NULL : q->ext,
		.lora_slot = q->adapter,
	};
	for (int k = 0; k < 4 && !p->encode; k++)
		e->parts[i].pos[k] = lmi_seq_pos(q, k);
}

/* A step has the class of the most urgent of its sequences. */
static enum lmi_class class_of(const struct lmi_engine *e, uint32_t n_part)
{
	enum lmi_class best = LMI_CLASS_BATCH;

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
	enum lmd_status st;

	for (uint32_t i = 0; i < step->n_part; i++)
		fill_part(e, &step->parts[i], i);
	e->inst->lane_class = class_of(e, step->n_part);
	atomic_store(&e->cancel_word, atomic_load(&e->stopping));
	atomic_store(&e->only_id, only_session(e, step->n_part));
	st = lmi_step_run(e->inst, step->plan, e->parts, step->n_part,
			  (const volatile int32_t *)&e->cancel_word, err);
	atomic_store(&e->only_id, 0);
	return st;
}

/* Parts from `part` on that belong to a session which is gone have no sequence any more. */
static void forget(struct lmi_engine *e, const struct lmi_session *gone, uint32_t part,
		   uint32_t n_part)
{
	for (uint32_t k = part; k < n_part; k++)
		if (e->session_of[k] == gone)
			e->part_seq[k] = NULL;
}

static bool hand_part(struct lmi_engine *e, const struct lmi_exec *x, uint32_t part,
		      const float *rows)
{
	return e->part_seq[part]->session->gen ? gen_part(e, x, part, rows)
					       : eval_part(e, x, part, rows);
}

static void hand_out(struct lmi_engine *e, uint32_t plan, uint32_t n_part)
{
	const struct lmi_exec *x = e->inst->execs[plan];
	const float *rows = e->inst->out;

	for (uint32_t i = 0; i < n_part; i++) {
		const struct lmi_rows *p = &e->parts[i];

		if (e->part_seq[i] && !p->encode && !hand_part(e, x, i, rows))
			forget(e, e->session_of[i], i, n_part);
		rows += (size_t)p->n_out * x->out_width;
	}
}

/* The step failed: so do its sessions; when the device or the file is gone, all of them. */
static void give_up(struct lmi_engine *e, uint32_t n_part, const struct lmd_error *err)
{
	if (err->status == LMD_IO || err->status == LMD_DEVICE) {
		e->broken = *err;
		while (e->sessions)
			fail_session(e, e->sessions, err);
		return;
	}
	for (uint32_t i = 0; i < n_part; i++) {
		if (!e->part_seq[i])
			continue;
		fail_session(e, e->session_of[i], err);
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

/* Who was kept has done its duty when its heir has begun. */
static void settle_heir(struct lmi_engine *e)
{
	if (e->kept && e->heir != LMI_NO_SEQ && lmi_sched_n_done(e->sched, e->heir)) {
		drop_kept(e);
		e->heir = LMI_NO_SEQ;
	}
}

static bool step(struct lmi_engine *e)
{
	struct lmi_sched_step step;
	struct lmd_error err = {0};
	enum lmd_status st;
	uint32_t n_part, plan;

	if (!lmi_sched_next(e->sched, &step))
		return false;
	n_part = step.n_part;
	plan = step.plan;
	st = run_step(e, &step, &err);
	lmi_sched_done(e->sched, st == LMD_OK);
	settle_heir(e);
	if (st == LMD_OK)
		hand_out(e, plan, n_part);
	else if (st != LMD_CANCELLED) /* cut short: whoever asked is in the queue */
		give_up(e, n_part, &err);
	return true;
}

enum lmi_turn lmi_turn(struct lmi_engine *e)
{
	enum lmi_turn t = LMI_TURN_IDLE;
	uint64_t allocs;

	take_orders(e);
	e->evaluated = false;
	allocs = lmi_alloc_thread_count();
	if (lmi_event_ring_room(&e->events) < room_for_step(e))
		t = LMI_TURN_FULL;
	else if (step(e))
		t = LMI_TURN_RAN;
	else if (e->kept && e->sessions) { /* in the way of somebody */
		drop_kept(e);
		t = step(e) ? LMI_TURN_RAN : t;
	}
	publish(e);
	flush(e);
	if (!e->evaluated)
		e->count.step_allocs += lmi_alloc_thread_count() - allocs;
	return t;
}
