/* SPDX-License-Identifier: MIT
 *
 * Commands start and cancel sessions; sessions end. */
#include <string.h>

#include "core/engine/engine_impl.h"
#include "core/engine/tower.h"

static void link_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	s->prev = NULL;
	s->next = e->sessions;
	if (s->next)
		s->next->prev = s;
	e->sessions = s;
}

void lmi_engine_forget_drafts(struct lmi_engine *e, struct lmi_engine_seq *q)
{
	e->n_draft -= q->n_draft;
	q->n_draft = 0;
}

/* The draft model need not guess for a sequence. */
static void forget_want(struct lmi_engine *e, const struct lmi_engine_seq *q)
{
	for (uint32_t i = 0; i < e->n_want; i++) {
		if (e->want_of[i] != q)
			continue;
		e->n_want--;
		e->want[i] = e->want[e->n_want];
		e->want_of[i] = e->want_of[e->n_want];
		return;
	}
}

void lmi_engine_remove_seq(struct lmi_engine *e, struct lmi_engine_seq *q)
{
	if (q->handle == LMI_SCHED_NO_SEQ)
		return;
	lmi_engine_forget_drafts(e, q);
	forget_want(e, q);
	lmi_sched_remove(e->sched, q->handle);
	e->seq_of[q->handle] = NULL;
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

void lmi_engine_end(struct lmi_engine *e, struct lmi_engine_job *s)
{
	unlink_session(e, s);
	free_session(e, s);
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
		lmi_engine_report(e, s, ev);
	lmi_engine_end(e, s);
}

/* Pins what was computed of a prompt; returns how many tokens that are. */
static uint32_t pin_prompt(struct lmi_engine *e, const struct lmi_engine_job *s)
{
	const struct lmd_host *host = e->inst->host;
	uint32_t most = lmi_kv_capacity(e->inst->kv) / LMI_ENGINE_PIN_PART;

	if (!s->pin_ns || s->seqs[0].handle == LMI_SCHED_NO_SEQ)
		return 0;
	return lmi_sched_pin(e->sched, s->seqs[0].handle, lmi_engine_gen_n_kept(s->gen), s->client,
			     host->now_ns(host->ctx) + s->pin_ns, most ? most : 1);
}

void lmi_engine_report(struct lmi_engine *e, const struct lmi_engine_job *s,
		       struct lmi_engine_event *ev)
{
	uint32_t handle = s->seqs[0].handle, n;

	lmi_engine_gen_report(s->gen, ev);
	ev->u.done.n_cached = ev->u.done.broke_at = ev->u.done.n_pinned = 0;
	if (handle == LMI_SCHED_NO_SEQ && !s->was_paused)
		return;
	n = s->was_paused ? s->n_match : lmi_sched_n_match(e->sched, handle);
	ev->u.done.n_cached = s->was_paused ? s->n_cached : lmi_sched_n_shared(e->sched, handle);
	/* the last token is computed in any case */
	ev->u.done.broke_at = n && n + 1 >= ev->u.done.n_prompt ? ev->u.done.n_prompt : n;
	ev->u.done.n_pinned = pin_prompt(e, s);
}

struct lmi_kv_identity lmi_engine_identity(const struct lmi_engine *e, const struct lmi_engine_seq *q)
{
	return (struct lmi_kv_identity){.tenant = q->session->tenant,
					.adapter = lmi_inst_adapter_key(e->inst, q->adapter)};
}

/* Lets a sequence use the prefix cache, if its rows depend on nothing but tokens. */
static void use_cache(const struct lmi_engine *e, const struct lmi_engine_seq *q,
		      struct lmi_sched_seq *o)
{
	const struct lmi_engine_job *s = q->session;

	if (!s->caches || q->n_enc || q->n_plane || q->ext)
		return;
	if (q->adapter_from)
		o->n_own = q->adapter_from;
	else if (q->adapter > 0 && e->inst->adapter_slots[q->adapter].n_invocation)
		return; /* its first row is one of the adapter */
	o->tokens = q->tokens;
	o->identity = lmi_engine_identity(e, q);
}

static enum lmi_sched_class class_of(const struct lmi_engine_job *s)
{
	if (s->class == LMI_ENGINE_CLASS_INTERACTIVE)
		return LMI_SCHED_INTERACTIVE;
	return s->class == LMI_ENGINE_CLASS_BATCH ? LMI_SCHED_BATCH : LMI_SCHED_NORMAL;
}

enum lmd_status lmi_engine_activate(const struct lmi_engine *e, struct lmi_engine_seq *q,
				    struct lmd_error *err)
{
	const struct lmi_inst_adapter_slot *s =
		q->adapter > 0 ? &e->inst->adapter_slots[q->adapter] : NULL;
	uint32_t at;

	q->adapter_from = 0;
	if (!s || !s->n_invocation)
		return LMD_OK;
	if (q->fork_of != LMI_ENGINE_NO_FORK ||
	    (q->session->gen && lmi_engine_gen_shifts(q->session->gen)))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"an adapter that is activated by tokens: neither with a shift of the "
				"context nor with shared beginnings of an evaluation");
	at = q->tokens && q->n_prompt >= s->n_invocation ? q->n_prompt - s->n_invocation + 1 : 0;
	while (at && memcmp(q->tokens + at - 1, s->invocation,
			    s->n_invocation * sizeof(*s->invocation)) != 0)
		at--;
	if (!at)
		q->adapter = 0;
	else
		q->adapter_from = at - 1;
	return LMD_OK;
}

static enum lmd_status start_seq(struct lmi_engine *e, struct lmi_engine_seq *q,
				 struct lmd_error *err)
{
	struct lmi_sched_seq o = {.share = LMI_SCHED_NO_SEQ};
	uint32_t stop = UINT32_MAX;
	enum lmd_status st = e->driver->start(e->inst, q, &o, err);

	if (st == LMD_BUSY && e->n_pending) { /* a new plan */
		lmi_engine_finish_steps(e);
		st = e->driver->start(e->inst, q, &o, err);
	}
	if (st != LMD_OK)
		return st;
	o.class = class_of(q->session);
	o.client = q->session->client;
	if (q->fork_of != LMI_ENGINE_NO_FORK) {
		o.share = q->session->seqs[q->fork_of].handle;
		o.share_rows = q->fork_at;
	} else {
		use_cache(e, q, &o);
		st = lmi_engine_passages_find(e, q, &o, &stop, err);
	}
	if (st == LMD_OK)
		st = lmi_sched_submit(e->sched, &o, &q->handle, err);
	if (st != LMD_OK)
		return st;
	lmi_sched_stop(e->sched, q->handle, stop);
	e->seq_of[q->handle] = q;
	return st;
}

static enum lmd_status check_slot(const struct lmi_engine *e, int32_t slot, struct lmd_error *err)
{
	return slot > 0 && slot < LMI_ENGINE_N_ADAPTER_SLOT && e->inst->adapter_slots[slot].binding
		       ? lmd_fail(err, LMD_BUSY, "adapter slot %d is being filled", slot)
		       : LMD_OK;
}

/* Starts the sequences of a session, whose pictures have rows. */
static void start_seqs(struct lmi_engine *e, struct lmi_engine_job *s, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	s->looks = false;
	lmi_sched_unpin(e->sched, e->inst->host->now_ns(e->inst->host->ctx));
	for (uint32_t i = 0; i < s->n_seq && st == LMD_OK; i++)
		st = start_seq(e, &s->seqs[i], err);
	if (st != LMD_OK)
		lmi_engine_fail(e, s, err);
}

static struct lmi_engine_seq_picture *next_picture(const struct lmi_engine_job *s)
{
	struct lmi_engine_seq_picture *p = NULL;

	for (uint32_t i = 0; i < s->n_seq && !p; i++)
		p = lmi_engine_pictures_next(s->seqs[i].pictures, s->seqs[i].n_picture);
	return p;
}

/* Returns the session whose picture is next; NULL: there is none. Clients take turns, however many pictures
 * they have; of equals, the higher class, and then the older session comes first. */
static struct lmi_engine_job *next_looking(const struct lmi_engine *e)
{
	static const uint8_t rank[] = {[LMI_SCHED_NORMAL] = 1, [LMI_SCHED_INTERACTIVE] = 0, [LMI_SCHED_BATCH] = 2};
	struct lmi_engine_job *s = NULL;

	for (struct lmi_engine_job *i = e->sessions; i; i = i->next) /* new ones are put in front */
		if (i->looks && (!s || i->look_turn < s->look_turn ||
				 (i->look_turn == s->look_turn && rank[class_of(i)] <= rank[class_of(s)])))
			s = i;
	return s;
}

/* A picture of a session was computed: its client has had a turn. */
static void end_look_turn(struct lmi_engine *e, const struct lmi_engine_job *s)
{
	e->look_turn++;
	for (struct lmi_engine_job *i = e->sessions; i; i = i->next)
		if (i->looks && i->client == s->client)
			i->look_turn = e->look_turn;
}

bool lmi_engine_look(struct lmi_engine *e)
{
	const struct lmi_engine_step_watch w = {.cancel = (const volatile int32_t *)&e->cancel_word,
						.progress = (volatile uint32_t *)&e->progress};
	struct lmi_engine_job *s = next_looking(e);
	struct lmd_error err = {0};
	enum lmd_status st;

	if (!s)
		return false;
	lmi_engine_finish_steps(e);
	s = next_looking(e); /* if the device was lost, all have ended */
	if (!s)
		return true;
	atomic_store(&e->cancel_word, atomic_load(&e->stopping));
	atomic_store(&e->only_id, s->id);
	st = lmi_engine_tower_run(e->inst->tower, s->tenant, next_picture(s), &w, &err);
	atomic_store(&e->only_id, 0);
	atomic_fetch_add(&e->progress, 1);
	end_look_turn(e, s);
	if (st == LMD_CANCELLED)
		return true; /* the cancelling command is in the queue */
	if (st == LMD_DEVICE || st == LMD_IO)
		lmi_engine_break(e, &err);
	else if (st != LMD_OK)
		lmi_engine_fail(e, s, &err);
	else if (!next_picture(s))
		start_seqs(e, s, &err);
	return true;
}

static void start_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	struct lmd_error err = e->broken;
	enum lmd_status st = err.status;

	link_session(e, s);
	for (uint32_t i = 0; i < s->n_seq && st == LMD_OK; i++) {
		st = check_slot(e, s->seqs[i].adapter, &err);
		if (st == LMD_OK)
			st = lmi_engine_activate(e, &s->seqs[i], &err);
	}
	s->looks = st == LMD_OK && next_picture(s);
	s->look_turn = e->look_turn;
	if (st != LMD_OK)
		lmi_engine_fail(e, s, &err);
	else if (!s->looks)
		start_seqs(e, s, &err);
}

static struct lmi_engine_job *find_session(const struct lmi_engine *e, uint64_t id)
{
	struct lmi_engine_job *s = e->sessions;

	while (s && s->id != id)
		s = s->next;
	return s;
}

/* ---- pauses ---- */

/* Takes the sequence of a generation out of the scheduler, which remembers its rows; the state of its
 * sampler, grammar and text stays. */
static void pause_session(struct lmi_engine *e, struct lmi_engine_job *s)
{
	uint32_t handle = s->seqs[0].handle;

	if (!s->was_paused) {
		s->n_cached = lmi_sched_n_shared(e->sched, handle);
		s->n_match = lmi_sched_n_match(e->sched, handle);
	}
	s->was_paused = s->paused = true;
	s->pauses = false;
	lmi_engine_remove_seq(e, &s->seqs[0]);
}

/* Pauses what is to be paused, but not while a worker looks for its next tokens. */
static void apply_pauses(struct lmi_engine *e)
{
	struct lmi_engine_job *next;
	bool any = false;

	for (struct lmi_engine_job *s = e->sessions; s; s = s->next)
		any |= s->pauses && !s->looks && !lmi_sched_is_held(e->sched, s->seqs[0].handle);
	if (!any)
		return;
	lmi_engine_finish_steps(e); /* which may end some of them, or let a worker begin */
	for (struct lmi_engine_job *s = e->sessions; s; s = next) {
		next = s->next;
		if (s->pauses && !s->looks && !lmi_sched_is_held(e->sched, s->seqs[0].handle))
			pause_session(e, s);
	}
}

static void pause_id(struct lmi_engine *e, uint64_t id, bool paused)
{
	struct lmi_engine_job *s = find_session(e, id);
	struct lmd_error err = e->broken;
	enum lmd_status st = err.status;

	if (!s || !s->gen)
		return;
	s->pauses = paused && !s->paused;
	if (paused || !s->paused)
		return;
	s->paused = false;
	if (st == LMD_OK)
		st = start_seq(e, &s->seqs[0], &err);
	if (st != LMD_OK)
		lmi_engine_fail(e, s, &err);
}

static void cancel_id(struct lmi_engine *e, uint64_t id)
{
	struct lmi_engine_job *s = find_session(e, id);

	if (s) {
		cancel_session(e, s);
		return;
	}
	lmi_engine_transfer_cancel(e, id);
	lmi_engine_adapter_cancel(e, id);
}

void lmi_engine_commands_take(struct lmi_engine *e)
{
	struct lmi_engine_command o;

	while (lmi_engine_command_queue_pop(&e->commands, &o)) {
		if (o.transfer)
			lmi_engine_transfer_begin(e, o.transfer);
		else if (o.pause || o.resume)
			pause_id(e, o.pause ? o.pause : o.resume, o.pause);
		else if (o.binding)
			lmi_engine_adapter_begin(e, o.binding);
		else if (!o.start)
			cancel_id(e, o.cancel);
		else
			start_session(e, o.start);
	}
	apply_pauses(e);
	while (atomic_load(&e->stopping) && e->sessions)
		cancel_session(e, e->sessions);
	if (atomic_load(&e->stopping)) {
		lmi_engine_transfer_cancel(e, 0);
		lmi_engine_adapter_cancel(e, 0);
	}
}

bool lmi_engine_is_quiet(struct lmi_engine *e)
{
	return !e->sessions && !e->transfers && !e->bindings && !e->n_pending &&
	       !atomic_load(&e->commands.n);
}
