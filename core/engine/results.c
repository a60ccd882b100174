/* SPDX-License-Identifier: MIT
 *
 * Reports the results of a step, part by part: rows of evaluations, tokens of generations. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/best.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/draft_tree.h"
#include "core/engine/engine_impl.h"
#include "core/engine/logprobs.h"

/* Queues a block of n rows; returns false if memory runs out. */
static bool emit_rows(struct lmi_engine *e, const struct lmi_engine_seq *q, uint32_t first,
		      uint32_t n, uint32_t width, float **v)
{
	struct lmi_engine_event *ev;

	e->evaluated = true;
	*v = lmi_alloc((size_t)n * width, sizeof(**v));
	if (!*v)
		return false;
	ev = lmi_engine_event_emit(e, q->session, LMI_ENGINE_EV_ROWS);
	ev->u.rows.seq = q->index;
	ev->u.rows.first = first;
	ev->u.rows.n = n;
	ev->u.rows.width = width;
	ev->u.rows.v = *v;
	return true;
}

static bool eval_nll(struct lmi_engine *e, const struct lmi_engine_seq *q, uint32_t first,
		     uint32_t n, const float *logits, uint32_t width)
{
	float *v;

	if (first + n == q->n_rows)
		n--; /* no token follows the last row */
	if (!n)
		return true;
	if (!emit_rows(e, q, first, n, 1, &v))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const float *row = logits + (size_t)i * width;

		v[i] = (float)(lmi_engine_log_sum_exp(row, width) -
			       row[q->tokens[first + i + 1]]);
	}
	return true;
}

static bool eval_logprobs(struct lmi_engine *e, const struct lmi_engine_seq *q, uint32_t first,
			  uint32_t n, const float *logits, uint32_t width)
{
	uint32_t n_pair = q->session->n_logprobs;
	struct lmi_engine_logprobs l;
	float *v, *scratch;

	if (first + n == q->n_rows)
		n--; /* no token follows the last row */
	if (!n)
		return true;
	scratch = lmi_alloc(lmi_engine_logprobs_scratch(width), sizeof(*scratch));
	if (!scratch)
		return false;
	if (!emit_rows(e, q, first, n, 2 * n_pair, &v)) {
		lmi_free(scratch);
		return false;
	}
	for (uint32_t i = 0; i < n; i++, v += (size_t)2 * n_pair) {
		lmi_engine_logprobs_of_row(&l, n_pair, logits + (size_t)i * width, width,
					   q->tokens[first + i + 1], scratch);
		for (uint32_t k = 0; k < n_pair; k++) {
			v[2 * k] = k < l.n ? (float)l.v[k].token : -1;
			v[2 * k + 1] = k < l.n ? l.v[k].logprob : 0;
		}
	}
	lmi_free(scratch);
	return true;
}

/* Reports the results of a part of the step; returns false if memory runs out. */
static bool eval_results(struct lmi_engine *e, const struct lmi_engine_exec *x,
			 const struct lmi_sched_part *p, const struct lmi_engine_seq *q,
			 const float *rows, const float *pooled)
{
	const struct lmi_engine_job *s = q->session;
	uint32_t first = p->first + p->n - p->n_out, n = p->n_out;
	float *v;

	if (s->want == LMI_ENGINE_WANT_EMBED && s->pooling != LMD_POOL_NONE) {
		if (p->first + p->n < q->n_rows)
			return true; /* LAST: the vector of a part that is not the last one */
		rows = pooled;
		first = 0;
		n = 1;
	}
	if (!n)
		return true;
	if (s->want == LMI_ENGINE_WANT_NLL)
		return eval_nll(e, q, first, n, rows, x->out_width);
	if (s->want == LMI_ENGINE_WANT_LOGPROBS)
		return eval_logprobs(e, q, first, n, rows, x->out_width);
	if (!emit_rows(e, q, first, n, x->out_width, &v))
		return false;
	memcpy(v, rows, (size_t)n * x->out_width * sizeof(*v));
	return true;
}

static void eval_part(struct lmi_engine *e, const struct lmi_engine_exec *x,
		      const struct lmi_sched_part *p, struct lmi_engine_seq *q, const float *rows,
		      const float *pooled)
{
	struct lmi_engine_job *s = q->session;

	if (!eval_results(e, x, p, q, rows, pooled)) {
		struct lmd_error err;

		(void)lmd_fail(&err, LMD_NOMEM, "no memory for %u rows of %u results", p->n_out,
			       x->out_width);
		lmi_engine_fail(e, s, &err);
		return;
	}
	if (p->first + p->n < q->n_rows)
		return;
	lmi_engine_remove_seq(e, q);
	if (--s->n_left)
		return;
	lmi_engine_event_emit(e, s, LMI_ENGINE_EV_DONE)->u.done.finish = LMI_ENGINE_FINISH_NONE;
	lmi_engine_end(e, s);
}

/* Queues the text in as many events as needed; the first one carries the token, and its log
 * probabilities precede it. */
static void emit_text(struct lmi_engine *e, const struct lmi_engine_job *s,
		      const struct lmi_engine_gen_step *g)
{
	enum lmi_engine_event_kind kind = LMI_ENGINE_EV_TOKEN;
	size_t at = 0;

	if (g->logprobs) {
		struct lmi_engine_logprobs *l =
			&lmi_engine_event_emit(e, s, LMI_ENGINE_EV_LOGPROBS)->u.logprobs;

		l->n = g->logprobs->n;
		memcpy(l->v, g->logprobs->v, l->n * sizeof(l->v[0]));
	}
	do {
		size_t n = g->n_text - at < LMI_ENGINE_EVENT_TEXT ? g->n_text - at
								  : LMI_ENGINE_EVENT_TEXT;
		struct lmi_engine_event *ev = lmi_engine_event_emit(e, s, kind);

		ev->u.text.token = g->token;
		ev->u.text.n = (uint32_t)n;
		memcpy(ev->u.text.bytes, g->text + at, n);
		at += n;
		kind = LMI_ENGINE_EV_TEXT;
	} while (at < g->n_text);
}

static void fail_generation(struct lmi_engine *e, struct lmi_engine_job *s, enum lmd_status st)
{
	struct lmd_error err;

	(void)lmd_fail(&err, st, "sampling: %s",
		       st == LMD_NOTFOUND  ? "the grammar allows no token here"
		       : st == LMD_TIMEOUT ? "the grammar is too ambiguous: computing its next "
					     "tokens takes more than its share of time"
					   : lmd_status_text(st));
	lmi_engine_fail(e, s, &err);
}

/* Reports a token; returns false if it was the last one. is_known: the scheduler knows its row. */
static bool tell_token(struct lmi_engine *e, struct lmi_engine_seq *q,
		       const struct lmi_engine_gen_step *g, bool is_known)
{
	bool grown;

	if (g->token >= 0) {
		atomic_fetch_add_explicit(&e->count.n_generated, 1, memory_order_relaxed);
		emit_text(e, q->session, g);
	}
	if (g->finish != LMI_ENGINE_FINISH_NONE)
		return false;
	if (is_known)
		return true;
	if (g->is_full) {
		uint32_t n_same = lmi_engine_gen_shift(q->session->gen, q, g->token);

		lmi_sched_rewrite(e->sched, q->handle, n_same, q->n_tokens);
		return true;
	}
	grown = lmi_sched_grow(e->sched, q->handle);
	assert(grown); /* the token array had room */
	(void)grown;
	return true;
}

static void end_generation(struct lmi_engine *e, struct lmi_engine_job *s)
{
	lmi_engine_gen_remember(s->gen, &s->seqs[0]);
	lmi_engine_report(e, s, lmi_engine_event_emit(e, s, LMI_ENGINE_EV_DONE));
	lmi_engine_end(e, s);
}

/* Is there room for the events of one more token, besides those of a step? */
static bool has_room(const struct lmi_engine *e)
{
	return lmi_engine_event_ring_room(&e->events) >=
	       lmi_engine_event_emit_room(e) + e->events_per_seq + 1;
}

/* Takes the next token if it is forced. Returns false if it is not, or if the generation has
 * ended. */
static bool take_forced(struct lmi_engine *e, struct lmi_engine_seq *q, uint32_t n_logits,
			bool *ended)
{
	const struct lmd_host *host = e->inst->host;
	struct lmi_engine_job *s = q->session;
	struct lmi_engine_gen_step g;
	enum lmd_status st = lmi_engine_gen_forced(s->gen, q, n_logits, q->n_tokens < q->cap,
						   host->now_ns(host->ctx), &g);

	*ended = st != LMD_OK;
	if (st != LMD_OK)
		fail_generation(e, s, st);
	if (st != LMD_OK || g.token < 0)
		return false;
	atomic_fetch_add_explicit(&e->count.n_forced, 1, memory_order_relaxed);
	if (tell_token(e, q, &g, false))
		return true;
	end_generation(e, s);
	*ended = true;
	return false;
}

/* ---- guessed tokens ---- */

static double step_ns(const void *arg, uint32_t n_row)
{
	return lmi_sched_step_least_ns(arg, n_row);
}

/* Returns for how many guessed tokens there is room for the events. */
static uint32_t event_room(const struct lmi_engine *e)
{
	uint32_t room = lmi_engine_event_ring_room(&e->events), used = lmi_engine_event_emit_room(e);

	return room > used ? (room - used) / e->events_per_seq : 0;
}

/* The next step of a sequence computes n guessed tokens as well, which follow its tokens. */
static void add_drafts(struct lmi_engine *e, struct lmi_engine_seq *q, uint32_t n)
{
	if (!n || !lmi_sched_grow_drafts(e->sched, q->handle, n))
		return;
	q->n_draft = n;
	e->n_draft += n;
}

/* Lets a generation guess its next tokens. chains: the device can choose them and go on by itself in
 * this plan; runs: it has gone on already. */
static void guess(struct lmi_engine *e, struct lmi_engine_seq *q, bool chains, bool runs)
{
	struct lmi_engine_step_times times = {
		.n_row = lmi_engine_n_computable(e),
		.now_ns = lmi_sched_step_ns(e->sched, lmi_engine_n_computable(e)),
		.ns = step_ns,
		.arg = e->sched,
		.move_ns = e->move_ns,
		.branches = lmi_engine_tree_serves(e->inst, lmi_sched_plan(e->sched, q->handle))};
	uint32_t room = event_room(e), most = lmi_kv_n_spare_states(e->inst->kv);
	struct lmi_engine_draft_want want;

	chains &= lmi_engine_gen_chains(q->session->gen);
	if (chains)
		times.host_ns = lmi_engine_overlap_host_ns(&e->overlap, times.n_row) /
				(e->n_keen_before ? e->n_keen_before : 1);
	if (room < most)
		most = room;
	if (runs)
		lmi_engine_gen_watch(q->session->gen, q, most, &times);
	else
		most = lmi_engine_gen_guess(q->session->gen, q, most, &times, &want);
	e->n_keen += chains && lmi_engine_gen_is_keen(q->session->gen);
	if (runs)
		return;
	if (!want.drafter) {
		add_drafts(e, q, most);
	} else if (e->n_want < e->n_scheduled) {
		e->want[e->n_want] = want;
		e->want_of[e->n_want++] = q;
	}
}

/* Not all slots have a pending step while results are reported and guesses are made. */
static uint32_t free_slot(const struct lmi_engine *e)
{
	return (e->first + e->n_pending) % e->inst->n_slot;
}

/* Are the rows of a part, of which the first n count, still in memory? Its results may have shifted or cut the
 * sequence. */
static bool has_rows(const struct lmi_engine *e, const struct lmi_engine_seq *q,
		     const struct lmi_engine_rows *r, uint32_t n)
{
	return q->handle != LMI_SCHED_NO_SEQ && lmi_sched_kv_seq(e->sched, q->handle) == r->kv_seq &&
	       lmi_kv_len(e->inst->kv, r->kv_seq) >= r->first + n;
}

void lmi_engine_results_feed(struct lmi_engine *e, const struct lmi_engine_pending *p,
			     const float *hidden)
{
	for (uint32_t i = 0; i < p->n_part && e->inst->nextn; i++) {
		const struct lmi_sched_part *planned = &p->planned[i];
		const struct lmi_engine_seq *q = p->seq[i];
		void *drafter = q && q->session->gen ? lmi_engine_gen_nextn(q->session->gen) : NULL;

		if (drafter && !planned->encode && has_rows(e, q, &p->rows[i], planned->n_kept))
			lmi_engine_nextn_feed(e->inst->nextn, free_slot(e), drafter, &p->rows[i],
					      planned->n_kept, hidden);
		hidden += (size_t)planned->n * lmi_inst_hidden_width(e->inst);
	}
}

void lmi_engine_results_draft(struct lmi_engine *e)
{
	if (!e->n_want)
		return;
	for (uint32_t i = 0; i < e->n_want; i++)
		e->want[i].kv_seq = lmi_sched_kv_seq(e->sched, e->want_of[i]->handle);
	if (e->inst->nextn)
		lmi_engine_nextn_guess(e->inst->nextn, free_slot(e), e->want, e->n_want);
	else
		lmi_engine_draft_model_guess(e->inst->draft, e->want, e->n_want);
	for (uint32_t i = 0; i < e->n_want; i++) {
		struct lmi_engine_draft_want *w = &e->want[i];
		uint32_t room = event_room(e);

		if (w->tree)
			w->n = lmi_engine_tree_finish(w->tree, w->out, w->n, w->most_all);
		add_drafts(e, e->want_of[i], w->n < room ? w->n : room);
	}
	e->n_want = 0;
}

/* ---- the next step of a generation ---- */

/* Would the next token make the engine shift the context? The sequence may be part of a step. */
static bool must_shift(const struct lmi_engine_seq *q)
{
	return q->n_tokens == q->cap && lmi_engine_gen_shifts(q->session->gen);
}

/* Finds the next tokens of a generation, and takes those that are forced, so that the step computes
 * them all. If the events run out of space or the context is full, the rest is taken after the step.
 * If finding the tokens takes time, a worker does it, and the sequence waits. Returns false if it
 * waits or has ended. */
static bool find_next(struct lmi_engine *e, struct lmi_engine_seq *q, uint32_t n_logits)
{
	struct lmi_engine_constraint *c = lmi_engine_gen_constraint(q->session->gen);
	bool ended = false;

	for (uint32_t i = 0; i <= LMI_ENGINE_JUMP_MAX && c; i++) {
		if (!lmi_engine_gen_find_next(q->session->gen, q, n_logits)) {
			c->job.share = lmi_engine_constraint_share(c);
			if (lmi_engine_mask_workers_submit(&e->mask_workers, &c->job)) {
				c->seq = q;
				c->turn = e->mask_turn;
				e->n_fresh_mask++;
				lmi_sched_hold(e->sched, q->handle, true);
				return false;
			}
			lmi_engine_constraint_find(c);
		}
		if (i == LMI_ENGINE_JUMP_MAX || !has_room(e) || must_shift(q) ||
		    !take_forced(e, q, n_logits, &ended))
			return !ended;
	}
	return true;
}

/* Prepares a generation for its next step. chains, runs: as for guess. */
static void continue_generation(struct lmi_engine *e, struct lmi_engine_seq *q, uint32_t n_logits,
				bool chains, bool runs)
{
	if (find_next(e, q, n_logits))
		guess(e, q, chains, runs);
}

static void gen_part(struct lmi_engine *e, const struct lmi_engine_exec *x, struct lmi_engine_seq *q,
		     const struct lmi_engine_choice *choice)
{
	struct lmi_engine_job *s = q->session;
	uint64_t now_ns = e->inst->host->now_ns(e->inst->host->ctx);
	struct lmi_engine_gen_step g;

	lmi_engine_forget_drafts(e, q);
	q->n_unread -= choice->chained;
	e->count.n_on_device += choice->on_device;
	e->count.n_short += choice->is_short;
	atomic_fetch_add_explicit(&e->count.n_drafted, choice->n_guess, memory_order_relaxed);
	atomic_fetch_add_explicit(&e->count.n_accepted, choice->n - 1, memory_order_relaxed);
	for (uint32_t i = 0; i < choice->n; i++) {
		bool is_last = i + 1 == choice->n;
		enum lmd_status st = lmi_engine_gen_take(s->gen, q,
							 is_last ? choice->status : LMD_OK,
							 choice->tokens[i], q->n_tokens < q->cap,
							 now_ns, &g);

		if (st != LMD_OK) {
			fail_generation(e, s, st);
			return;
		}
		if (!tell_token(e, q, &g, !is_last || choice->chained)) {
			end_generation(e, s);
			return;
		}
	}
	continue_generation(e, q, x->out_width, x->chains, choice->chained);
}

/* ---- next tokens found by workers ---- */

/* How long the engine waits for workers before it submits a step without their sequences: a part of
 * the last step's time, since a sequence that is left out waits for a whole step. */
static uint64_t patience_ns(const struct lmi_engine *e)
{
	uint64_t ns = e->step_ns / LMI_ENGINE_MASK_WAIT_PART;

	return ns < LMI_ENGINE_MASK_WAIT_NS ? ns : LMI_ENGINE_MASK_WAIT_NS;
}

static void collect(struct lmi_engine *e, struct lmi_engine_constraint *c)
{
	struct lmi_engine_seq *q = c->seq;
	enum lmd_status st;

	e->n_fresh_mask -= c->turn == e->mask_turn && e->n_fresh_mask;
	if (c->job.abandoned) {
		lmi_engine_constraint_destroy(c);
		return;
	}
	lmi_sched_hold(e->sched, q->handle, false);
	st = lmi_engine_constraint_next(c)->status;
	if (st != LMD_OK)
		fail_generation(e, q->session, st);
	else
		continue_generation(e, q, c->n_logits, false, false);
}

static bool collect_one(struct lmi_engine *e, uint64_t wait_ns)
{
	struct lmi_engine_mask_job *job =
		lmi_engine_mask_workers_collect(&e->mask_workers, wait_ns);

	if (job)
		collect(e, (void *)((char *)job - offsetof(struct lmi_engine_constraint, job)));
	return job;
}

void lmi_engine_results_collect(struct lmi_engine *e)
{
	const struct lmd_host *host = e->inst->host;
	uint64_t end_ns, now_ns;

	while (collect_one(e, 0))
		;
	now_ns = e->n_fresh_mask ? host->now_ns(host->ctx) : 0;
	end_ns = now_ns + patience_ns(e);
	while (e->n_fresh_mask && now_ns < end_ns && collect_one(e, end_ns - now_ns))
		now_ns = host->now_ns(host->ctx);
	e->n_fresh_mask = 0;
	e->mask_turn++;
}

/* Does a generation get a token from this part, if it counts? */
static bool is_sampled(const struct lmi_engine_pending *p, uint32_t part)
{
	const struct lmi_engine_seq *q = p->seq[part];

	return q && q->session->gen && p->planned[part].n_out;
}

void lmi_engine_results_report(struct lmi_engine *e, const struct lmi_engine_pending *p,
			       const struct lmi_engine_exec *x, uint32_t part, const float *rows,
			       const float *all)
{
	const struct lmi_sched_part *planned = &p->planned[part];
	struct lmi_engine_seq *q = p->seq[part];

	if (!q || planned->encode || !planned->n_kept)
		return;
	if (!q->session->gen)
		eval_part(e, x, planned, q, rows, all + (size_t)part * x->out_width);
	else if (is_sampled(p, part))
		gen_part(e, x, q, &p->choice[part]);
}

/* ---- choosing tokens ---- */

struct choosing {
	struct lmi_engine_pending *p;
	uint32_t width, n_best;
	bool exact; /* no worker finds the next tokens of constraints */
	_Atomic uint32_t next; /* the first part that no thread has taken */
};

static void choose(struct lmi_engine_pending *p, uint32_t part, uint32_t width, uint32_t n_best,
		   bool exact)
{
	struct lmi_engine_choice *c = &p->choice[part];

	if (c->is_short) {
		c->n = 1;
		c->status = lmi_engine_gen_choose_best(p->session[part]->gen, c->best, c->best_logits,
						       n_best, &c->tokens[0]);
	} else {
		lmi_engine_gen_choose(p->session[part]->gen, p->seq[part], c, width, exact);
	}
	p->kept[part] = p->planned[part].n - p->planned[part].n_out + c->n;
	c->logits = NULL;
}

static void choose_some(void *arg, uint32_t part, uint32_t n)
{
	struct choosing *job = arg;
	struct lmi_engine_pending *p = job->p;
	uint32_t i;

	(void)part;
	(void)n;
	while ((i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < p->n_part)
		if (p->choice[i].logits)
			choose(p, i, job->width, job->n_best, job->exact);
}

/* Takes the token that the device chose. */
static void take_choice(struct lmi_engine_choice *c, int32_t token, uint32_t n_vocab)
{
	c->n = 1;
	c->tokens[0] = token;
	c->status = token >= 0 && (uint32_t)token < n_vocab ? LMD_OK : LMD_INTERNAL;
}

void lmi_engine_results_choose(struct lmi_engine *e, struct lmi_engine_pending *p,
			       const struct lmi_engine_exec *x, const float *rows,
			       const int32_t *tokens)
{
	struct choosing job = {.p = p,
			       .width = x->out_width,
			       .n_best = lmi_engine_best_n(e->inst->best),
			       .exact = !e->mask_workers.n_max};
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_part; i++) {
		bool chooses = is_sampled(p, i) && lmi_sched_counts(e->sched, i);

		p->choice[i].logits = chooses && !p->choice[i].on_device ? rows : NULL;
		if (chooses && p->choice[i].on_device)
			take_choice(&p->choice[i], *tokens, x->out_width);
		p->choice[i].n_row = p->planned[i].n_out - p->choice[i].n_beside;
		p->choice[i].tree = p->rows[i].tree;
		p->choice[i].moved = p->choice[i].n_guess = 0;
		p->kept[i] = p->planned[i].n;
		n += p->choice[i].logits != NULL;
		rows += (size_t)p->planned[i].n_out * x->out_width;
		tokens += tokens ? p->planned[i].n_out : 0;
	}
	if (n > 1 && (uint64_t)n * x->out_width >= e->shared_logits)
		lmi_inst_run_team(e->inst, choose_some, &job);
	for (uint32_t i = 0; i < p->n_part; i++)
		if (p->choice[i].logits)
			choose(p, i, x->out_width, job.n_best, job.exact);
}
