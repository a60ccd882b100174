/* SPDX-License-Identifier: MIT
 *
 * Commands start and cancel sessions; sessions end and may leave a retained sequence. */
#include <string.h>

#include "core/engine/engine_impl.h"

static void link_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	s->prev = NULL;
	s->next = e->sessions;
	if (s->next)
		s->next->prev = s;
	e->sessions = s;
}

void lmi_engine_remove_seq(struct lmi_engine *e, struct lmi_engine_seq *q)
{
	if (q->handle == LMI_SCHED_NO_SEQ)
		return;
	lmi_sched_remove(e->sched, q->handle);
	e->seq_of[q->handle] = NULL;
	if (e->successor == q->handle)
		e->successor = LMI_SCHED_NO_SEQ;
	q->handle = LMI_SCHED_NO_SEQ;
}

/* Forgets an ended session in the submitted steps: their results are of no use to it. */
static void forget_parts(struct lmi_engine *e, const struct lmi_engine_job *s)
{
	for (uint32_t i = 0; i < e->inst->n_slot; i++) {
		struct lmi_engine_pending *p = &e->pending[i];

		for (uint32_t k = 0; k < p->n_part; k++)
			if (p->session[k] == s)
				p->seq[k] = NULL, p->session[k] = NULL;
	}
}

static void unlink_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	forget_parts(e, s);
	if (s->prev)
		s->prev->next = s->next;
	else
		e->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
}

static void free_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	for (uint32_t i = 0; i < s->n_seq; i++)
		lmi_engine_remove_seq(e, &s->seqs[i]);
	atomic_fetch_sub(&e->n_live, s->n_seq);
	lmi_engine_job_destroy(s);
}

void lmi_engine_retained_drop(struct lmi_engine *e)
{
	if (e->retained)
		free_session(e, e->retained);
	e->retained = NULL;
}

void lmi_engine_end(struct lmi_engine *e, struct lmi_engine_job *s)
{
	unlink_session(e, s);
	if (!s->keep || s->seqs[0].handle == LMI_SCHED_NO_SEQ ||
	    !lmi_sched_retain(e->sched, s->seqs[0].handle)) {
		free_session(e, s);
		return;
	}
	lmi_engine_retained_drop(e);
	e->retained = s;
}

void lmi_engine_fail(struct lmi_engine *e, struct lmi_engine_job *s, const struct lmd_error *err)
{
	lmi_engine_event_emit(e, s, LMI_ENGINE_EV_FAILED)->u.error = *err;
	unlink_session(e, s);
	free_session(e, s);
}

static void cancel_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	struct lmi_engine_event *ev = lmi_engine_event_emit(e, s, LMI_ENGINE_EV_CANCELLED);

	memset(&ev->u.done, 0, sizeof(ev->u.done));
	if (s->gen)
		lmi_engine_gen_report(s->gen, ev);
	lmi_engine_end(e, s);
}

/* Returns the length of the common prefix of a new generation and the retained sequence, as far as
 * it is computed; 0 = none. At least one row is left to compute. */
static uint32_t rows_in_common(const struct lmi_engine *e, const struct lmi_engine_seq *q)
{
	const struct lmi_engine_seq *k = e->retained ? &e->retained->seqs[0] : NULL;
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

static enum lmd_status start_seq(struct lmi_engine *e, struct lmi_engine_seq *q,
				 struct lmd_error *err)
{
	struct lmi_sched_seq o = {.share = LMI_SCHED_NO_SEQ};
	enum lmd_status st = e->driver->start(e->inst, q, &o, err);

	if (st == LMD_BUSY && e->n_pending) { /* a new plan */
		lmi_engine_finish_steps(e);
		st = e->driver->start(e->inst, q, &o, err);
	}
	if (st != LMD_OK)
		return st;
	if (q->fork_of != LMI_ENGINE_NO_FORK) {
		o.share = q->session->seqs[q->fork_of].handle;
		o.share_rows = q->fork_at;
	} else if (e->retained) {
		o.share_rows = rows_in_common(e, q);
		if (o.share_rows)
			o.share = e->retained->seqs[0].handle;
		else
			lmi_engine_retained_drop(e);
	}
	st = lmi_sched_submit(e->sched, &o, &q->handle, err);
	if (st != LMD_OK)
		return st;
	e->seq_of[q->handle] = q;
	if (q->fork_of == LMI_ENGINE_NO_FORK && e->retained)
		e->successor = q->handle;
	return st;
}

static void start_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	struct lmd_error err = e->broken;
	enum lmd_status st = err.status;

	link_session(e, s);
	for (uint32_t i = 0; i < s->n_seq && st == LMD_OK; i++)
		st = start_seq(e, &s->seqs[i], &err);
	if (st != LMD_OK)
		lmi_engine_fail(e, s, &err);
}

static struct lmi_engine_job *find_session(const struct lmi_engine *e, uint64_t id)
{
	struct lmi_engine_job *s = e->sessions;

	while (s && s->id != id)
		s = s->next;
	return s;
}

static void cancel_id(struct lmi_engine *e, uint64_t id)
{
	struct lmi_engine_job *s = find_session(e, id);

	if (s && s->keep && e->n_pending) {
		/* only a sequence that is not part of a step can be retained */
		lmi_engine_finish_steps(e);
		s = find_session(e, id);
	}
	if (s)
		cancel_session(e, s);
}

void lmi_engine_commands_take(struct lmi_engine *e)
{
	struct lmi_engine_command o;

	while (lmi_engine_command_queue_pop(&e->commands, &o)) {
		if (!o.start)
			cancel_id(e, o.cancel);
		else
			start_session(e, o.start);
	}
	while (atomic_load(&e->stopping) && e->sessions)
		cancel_session(e, e->sessions);
	if (atomic_load(&e->stopping))
		lmi_engine_retained_drop(e);
}

bool lmi_engine_is_quiet(struct lmi_engine *e)
{
	return !e->sessions && !e->retained && !e->n_pending && !atomic_load(&e->commands.n);
}
