/* SPDX-License-Identifier: MIT
 *
 * Commands start and cancel sessions; sessions end and may leave a retained sequence. */
#include <string.h>

#include "core/engine/engine_impl.h"

static void link_session(struct lmi_engine *e, struct lmi_session *s)
{
	s->prev = NULL;
	s->next = e->sessions;
	if (s->next)
		s->next->prev = s;
	e->sessions = s;
}

void lmi_engine_leave(struct lmi_engine *e, struct lmi_seq *q)
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
		lmi_engine_leave(e, &s->seqs[i]);
	atomic_fetch_sub(&e->n_live, s->n_seq);
	lmi_session_destroy(s);
}

void lmi_kept_drop(struct lmi_engine *e)
{
	if (e->kept)
		free_session(e, e->kept);
	e->kept = NULL;
}

void lmi_engine_end(struct lmi_engine *e, struct lmi_session *s)
{
	unlink_session(e, s);
	if (!s->keep || s->seqs[0].handle == LMI_NO_SEQ ||
	    !lmi_sched_rest(e->sched, s->seqs[0].handle)) {
		free_session(e, s);
		return;
	}
	lmi_kept_drop(e);
	e->kept = s;
}

void lmi_engine_fail(struct lmi_engine *e, struct lmi_session *s, const struct lmd_error *err)
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
	lmi_engine_end(e, s);
}

/* Returns the length of the common prefix of a new generation and the retained sequence, as far as
 * it is computed; 0 = none. At least one row is left to compute. */
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
			lmi_kept_drop(e);
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
		lmi_engine_fail(e, s, &err);
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

void lmi_orders_take(struct lmi_engine *e)
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
		lmi_kept_drop(e);
}

bool lmi_engine_is_quiet(struct lmi_engine *e)
{
	return !e->sessions && !e->kept && !atomic_load(&e->orders.n);
}
