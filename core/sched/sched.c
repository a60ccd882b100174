/* SPDX-License-Identifier: MIT
 *
 * The scheduler's sequences: records in two lists, both in order of arrival. Active ones have a seq
 * slot of the KV pool, waiting ones have no memory. */
#include <assert.h>

#include "core/base/alloc.h"
#include "core/sched/sched_impl.h"

/* ---- lists ---- */

static void list_insert(struct lmi_sched *s, struct lmi_sched_list *l, uint32_t i)
{
	uint32_t after = l->tail;

	while (after != LMI_SCHED_NO_SEQ && lmi_sched_comes_before(&s->rec[i], &s->rec[after]))
		after = s->rec[after].prev;
	s->rec[i].prev = after;
	s->rec[i].next = after == LMI_SCHED_NO_SEQ ? l->head : s->rec[after].next;
	*(after == LMI_SCHED_NO_SEQ ? &l->head : &s->rec[after].next) = i;
	*(s->rec[i].next == LMI_SCHED_NO_SEQ ? &l->tail : &s->rec[s->rec[i].next].prev) = i;
	l->n++;
}

static void list_remove(struct lmi_sched *s, struct lmi_sched_list *l, uint32_t i)
{
	const struct lmi_sched_rec *r = &s->rec[i];

	*(r->prev == LMI_SCHED_NO_SEQ ? &l->head : &s->rec[r->prev].next) = r->next;
	*(r->next == LMI_SCHED_NO_SEQ ? &l->tail : &s->rec[r->next].prev) = r->prev;
	l->n--;
}

void lmi_sched_activate(struct lmi_sched *s, uint32_t i, uint32_t kv_seq)
{
	list_remove(s, &s->waiting, i);
	s->rec[i].state = LMI_SCHED_ACTIVE;
	s->rec[i].kv_seq = kv_seq;
	list_insert(s, &s->active, i);
}

void lmi_sched_count_start(struct lmi_sched *s, struct lmi_sched_rec *r, uint32_t n)
{
	s->stats.n_shared_rows += n;
	if (r->started)
		return;
	r->started = true;
	r->n_shared = n;
	r->n_match = r->n_match > n ? r->n_match : n;
	s->stats.n_started += r->o.tokens != NULL;
	s->stats.n_hit += r->o.tokens && n;
}

static void remember_rows(struct lmi_sched *s, const struct lmi_sched_rec *r, bool ends)
{
	if (r->o.n_own)
		lmi_kv_remember_first(s->kv, r->kv_seq, r->o.tokens, r->o.n_own);
	else
		lmi_kv_remember(s->kv, r->kv_seq, r->o.tokens, ends);
}

/* Makes what a sequence has computed findable. */
static void remember(struct lmi_sched *s, const struct lmi_sched_rec *r, bool ends)
{
	if (r->o.tokens && r->state == LMI_SCHED_ACTIVE && !r->restarts && !r->n_void)
		remember_rows(s, r, ends);
}

void lmi_sched_restart(struct lmi_sched *s, uint32_t i)
{
	struct lmi_sched_rec *r = &s->rec[i];

	remember(s, r, true);
	lmi_kv_close(s->kv, r->kv_seq);
	list_remove(s, &s->active, i);
	r->state = LMI_SCHED_WAITING;
	r->n_done = r->n_planned = 0;
	r->encoded = r->restarts = false;
	list_insert(s, &s->waiting, i);
}

/* ---- create, submit, remove ---- */

enum lmd_status lmi_sched_create(struct lmi_sched **out, const struct lmi_sched_opts *o,
				 struct lmd_error *err)
{
	struct lmi_kv_stats kv;
	struct lmi_sched *s;
	bool no_memory = false;

	lmi_kv_stats(o->kv, &kv);
	if (!o->n_max || o->n_batch < kv.n_seq || o->n_out < kv.n_seq)
		return lmd_fail(err, LMD_INVALID,
				"scheduler: a step of %u rows with %u outputs is too small for %u "
				"sequences",
				o->n_batch, o->n_out, kv.n_seq);
	if (o->n_step > LMI_KV_MAX_STEP)
		return lmd_fail(err, LMD_INVALID, "scheduler: %u pending steps, at most %d",
				o->n_step, LMI_KV_MAX_STEP);
	s = lmi_alloc(1, sizeof(*s));
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "scheduler: no memory");
	*s = (struct lmi_sched){.kv = o->kv,
				.n_max = o->n_max,
				.n_batch = o->n_batch,
				.n_out = o->n_out,
				.n_step = o->n_step ? o->n_step : 1,
				.target_ns = {o->target_ns[0], o->target_ns[1], o->target_ns[2]},
				.client_slowdown_percent = o->client_slowdown_percent,
				.waiting = {LMI_SCHED_NO_SEQ, LMI_SCHED_NO_SEQ, 0},
				.active = {LMI_SCHED_NO_SEQ, LMI_SCHED_NO_SEQ, 0}};
	s->rec = lmi_alloc(o->n_max, sizeof(*s->rec));
	s->fair.account = lmi_alloc(o->n_max, sizeof(*s->fair.account));
	s->fair.n = o->n_max;
	for (uint32_t i = 0; i < s->n_step; i++) {
		s->step[i].part = lmi_alloc(kv.n_seq, sizeof(*s->step[i].part));
		no_memory |= !s->step[i].part;
	}
	if (!s->rec || !s->fair.account || no_memory) {
		lmi_sched_destroy(s);
		return lmd_fail(err, LMD_NOMEM, "scheduler: no memory for %u sequences", o->n_max);
	}
	*out = s;
	return LMD_OK;
}

void lmi_sched_destroy(struct lmi_sched *s)
{
	if (!s)
		return;
	lmi_free(s->rec);
	lmi_free(s->fair.account);
	for (uint32_t i = 0; i < s->n_step; i++)
		lmi_free(s->step[i].part);
	lmi_free(s);
}

static enum lmd_status check_seq(const struct lmi_sched *s, const struct lmi_sched_seq *o,
				 struct lmd_error *err)
{
	if (!o->n_known || o->n_limit < o->n_known)
		return lmd_fail(err, LMD_INVALID, "a sequence of %u rows cannot be limited to %u "
						  "rows",
				o->n_known, o->n_limit);
	if (o->whole && (o->n_limit != o->n_known || o->max_chunk))
		return lmd_fail(err, LMD_INVALID,
				"%u rows that must run in one step cannot grow to %u or be split "
				"after %u",
				o->n_known, o->n_limit, o->max_chunk);
	if (o->whole && o->n_known > s->n_batch)
		return lmd_fail(err, LMD_INVALID,
				"%u rows must run in one step, but a step has at most %u",
				o->n_known, s->n_batch);
	if (o->whole && o->out == LMI_SCHED_OUT_ALL && o->n_known > s->n_out)
		return lmd_fail(err, LMD_INVALID,
				"%u rows must be output in one step, but a step outputs at most %u",
				o->n_known, s->n_out);
	if (o->n_encode > s->n_batch)
		return lmd_fail(err, LMD_INVALID, "%u rows to encode, but a step has at most %u",
				o->n_encode, s->n_batch);
	if (!lmi_kv_fits_alone(s->kv, o->n_limit, s->n_batch))
		return lmd_fail(err, LMD_INVALID,
				"a sequence of up to %u rows does not fit into the KV cache",
				o->n_limit);
	if (o->n_span) {
		struct lmi_kv_stats kv;
		uint32_t most;
		enum lmd_status st;

		lmi_kv_stats(s->kv, &kv);
		most = s->n_batch - (kv.n_seq - 1);
		if (o->out == LMI_SCHED_OUT_ALL && s->n_out - (kv.n_seq - 1) < most)
			most = s->n_out - (kv.n_seq - 1);
		st = lmi_sched_check_spans(o, most, err);
		if (st != LMD_OK)
			return st;
	}
	if (o->share != LMI_SCHED_NO_SEQ &&
	    (o->share >= s->n_max || s->rec[o->share].state == LMI_SCHED_FREE || !o->share_rows ||
	     o->share_rows >= o->n_known || o->share_rows > s->rec[o->share].o.n_known))
		return lmd_fail(err, LMD_INVALID, "cannot share %u rows with sequence %u",
				o->share_rows, o->share);
	return LMD_OK;
}

enum lmd_status lmi_sched_submit(struct lmi_sched *s, const struct lmi_sched_seq *o, uint32_t *seq,
				 struct lmd_error *err)
{
	enum lmd_status st = check_seq(s, o, err);
	uint32_t i = 0;

	if (st != LMD_OK)
		return st;
	while (i < s->n_max && s->rec[i].state != LMI_SCHED_FREE)
		i++;
	if (i == s->n_max)
		return lmd_fail(err, LMD_BUSY, "all %u sequence slots of the scheduler are in use",
				s->n_max);
	s->rec[i] = (struct lmi_sched_rec){.o = *o,
				 .state = LMI_SCHED_WAITING,
				 .draft_from = LMI_SCHED_NO_DRAFT,
				 .stop = LMI_SCHED_NO_STOP,
				 .arrival = ++s->n_arrived,
				 .account = lmi_sched_fair_enter(&s->fair, o->client, o->class)};
	if (o->share != LMI_SCHED_NO_SEQ) {
		s->rec[i].parent_arrival = s->rec[o->share].arrival;
		s->rec[i].n_emitted = o->share_rows;
	}
	if (o->out_from > s->rec[i].n_emitted)
		s->rec[i].n_emitted = o->out_from;
	list_insert(s, &s->waiting, i);
	*seq = i;
	return LMD_OK;
}

static struct lmi_sched_rec *rec_of(const struct lmi_sched *s, uint32_t seq)
{
	assert(seq < s->n_max && s->rec[seq].state != LMI_SCHED_FREE);
	return &s->rec[seq];
}

bool lmi_sched_grow(struct lmi_sched *s, uint32_t seq)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	assert(r->draft_from == LMI_SCHED_NO_DRAFT);
	if (r->o.n_known == r->o.n_limit)
		return false;
	r->o.n_known++;
	r->grown = true;
	return true;
}

void lmi_sched_take_back(struct lmi_sched *s, uint32_t seq)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	assert(r->o.n_known > 1 && r->n_planned < r->o.n_known);
	assert(r->restarts || !r->n_planned); /* nothing is planned until it starts again */
	r->o.n_known--;
}

void lmi_sched_hold(struct lmi_sched *s, uint32_t seq, bool held)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	assert(!held || r->o.n_known > 1);
	r->held = held;
}

bool lmi_sched_is_held(const struct lmi_sched *s, uint32_t seq)
{
	return rec_of(s, seq)->held;
}

uint32_t lmi_sched_plan(const struct lmi_sched *s, uint32_t seq)
{
	return rec_of(s, seq)->o.plan;
}

void lmi_sched_stop(struct lmi_sched *s, uint32_t seq, uint32_t at)
{
	rec_of(s, seq)->stop = at;
}

bool lmi_sched_is_at_stop(const struct lmi_sched *s, uint32_t seq)
{
	const struct lmi_sched_rec *r = rec_of(s, seq);

	return r->state == LMI_SCHED_ACTIVE && !r->n_step && r->n_done == r->stop;
}

bool lmi_sched_take_rows(struct lmi_sched *s, uint32_t seq, uint32_t n)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	assert(lmi_sched_is_at_stop(s, seq) && r->n_planned == r->stop && n < r->o.n_known - r->stop);
	if (!lmi_kv_reserve(s->kv, r->kv_seq, n, NULL, 0))
		return false;
	r->n_planned += n;
	return true;
}

void lmi_sched_put_rows(struct lmi_sched *s, uint32_t seq, bool written)
{
	struct lmi_sched_rec *r = rec_of(s, seq);
	uint32_t n = r->n_planned - r->n_done;

	lmi_kv_commit(s->kv, r->kv_seq, written ? n : 0);
	if (!written) {
		r->n_planned = r->n_done;
		return;
	}
	r->n_done = r->stop = r->n_planned;
	if (r->n_emitted < r->n_done)
		r->n_emitted = r->n_done;
	r->n_shared += n;
	s->stats.n_shared_rows += n;
}

bool lmi_sched_grow_drafts(struct lmi_sched *s, uint32_t seq, uint32_t n)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	if (n > r->o.n_limit - r->o.n_known || n > LMI_KV_MAX_MARK ||
	    r->draft_from != LMI_SCHED_NO_DRAFT)
		return false;
	r->draft_from = n ? r->o.n_known : LMI_SCHED_NO_DRAFT;
	r->o.n_known += n;
	r->grown = true;
	return true;
}

/* Forgets the known rows from row n on. */
static void forget_rows(struct lmi_sched_rec *r, uint32_t n)
{
	r->o.n_known = n;
	r->draft_from = LMI_SCHED_NO_DRAFT;
	if (r->n_emitted > n)
		r->n_emitted = n;
}

void lmi_sched_truncate(struct lmi_sched *s, uint32_t seq, uint32_t n)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	assert(!r->n_step && n && n <= r->o.n_known);
	forget_rows(r, n);
	if (r->n_done <= n)
		return;
	if (lmi_kv_truncate(s->kv, r->kv_seq, n)) {
		r->n_done = r->n_planned = n;
		return;
	}
	r->restarts = true; /* its tokens may be others now */
	lmi_sched_restart(s, seq);
}

/* Lets the sequences that wait for rows of another one, of which only the first n stay, start
 * without them. */
static void forget_followers(struct lmi_sched *s, const struct lmi_sched_rec *r, uint32_t n)
{
	for (uint32_t i = s->waiting.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (s->rec[i].o.share_rows > n && lmi_sched_parent_of(s, &s->rec[i]) == r)
			s->rec[i].parent_arrival = 0;
}

void lmi_sched_rewrite(struct lmi_sched *s, uint32_t seq, uint32_t n_same, uint32_t n_known)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	assert(!r->n_step && n_known && n_same <= n_known && n_known <= r->o.n_limit);
	forget_followers(s, r, n_same);
	forget_rows(r, n_same);
	r->o.n_known = n_known;
	r->grown = false; /* it has a prompt to compute */
	if (r->n_done <= n_same)
		return;
	if (lmi_kv_truncate(s->kv, r->kv_seq, n_same)) {
		r->n_done = r->n_planned = n_same;
		return;
	}
	r->restarts = true; /* nothing may be found under its new tokens */
	lmi_sched_restart(s, seq);
}

void lmi_sched_remove(struct lmi_sched *s, uint32_t seq)
{
	struct lmi_sched_rec *r = rec_of(s, seq);

	remember(s, r, true);
	r->o.tokens = NULL;
	if (r->n_step) {
		r->removed = true;
		return;
	}
	if (r->state == LMI_SCHED_ACTIVE)
		lmi_kv_close(s->kv, r->kv_seq);
	list_remove(s, r->state == LMI_SCHED_ACTIVE ? &s->active : &s->waiting, seq);
	r->state = LMI_SCHED_FREE;
	lmi_sched_fair_leave(&s->fair, r->account);
}

/* Ends a part of the oldest step, of which n rows count if nothing before it has failed. */
static void commit_part(struct lmi_sched *s, struct lmi_sched_part *p, bool ran, uint32_t n)
{
	struct lmi_sched_rec *r = &s->rec[p->seq];
	bool is_void = r->n_void;

	assert(n && n <= p->n);
	r->n_step--;
	r->n_void -= is_void;
	p->n_kept = is_void || !ran || r->removed ? 0 : n;
	if (is_void || !ran)
		n = 0;
	if (!p->encode)
		lmi_kv_commit(s->kv, r->kv_seq, n);
	if (is_void)
		return;
	if (!ran) {
		r->restarts = true;
		r->n_void = r->n_step;
		return;
	}
	if (p->encode)
		return;
	r->n_done += n;
	if (n < p->n) {
		assert(r->n_done >= r->draft_from);
		forget_rows(r, r->n_done);
		r->n_planned = r->n_done;
		r->n_void = r->n_step;
	}
	if (r->n_done == r->o.n_known)
		r->draft_from = LMI_SCHED_NO_DRAFT;
	if (r->n_emitted < r->n_done)
		r->n_emitted = r->n_done;
}

void lmi_sched_commit(struct lmi_sched *s, bool ran, const uint32_t *kept)
{
	struct lmi_sched_pending *step = &s->step[s->first];

	assert(s->n_pending);
	s->n_pending--;
	s->first = (s->first + 1) % s->n_step;
	for (uint32_t k = 0; k < step->n_part; k++)
		commit_part(s, &step->part[k], ran, kept ? kept[k] : step->part[k].n);
	/* fork first: trimming drops marks and pages that the forks need */
	if (ran)
		lmi_sched_start_shared(s);
	for (uint32_t k = 0; k < step->n_part; k++) {
		uint32_t i = step->part[k].seq;

		if (s->rec[i].removed)
			lmi_sched_remove(s, i); /* frees it after its last step */
		else if (s->rec[i].restarts && !s->rec[i].n_step)
			lmi_sched_restart(s, i);
		else if (step->part[k].n_kept && !step->part[k].encode) {
			remember(s, &s->rec[i], false);
			lmi_kv_trim(s->kv, s->rec[i].kv_seq);
		}
	}
}

void lmi_sched_measure(struct lmi_sched *s, uint32_t n_row, uint64_t bound_ns, uint64_t ns)
{
	lmi_sched_cost_add(&s->cost, n_row, ns);
	s->stats.n_bounded += bound_ns != 0;
	s->stats.n_over_bound += bound_ns && ns > bound_ns;
}

uint32_t lmi_sched_n_pending(const struct lmi_sched *s)
{
	return s->n_pending;
}

/* ---- statistics ---- */

void lmi_sched_stats(const struct lmi_sched *s, struct lmi_sched_stats *out)
{
	*out = s->stats;
	out->n_waiting = s->waiting.n;
	out->n_active = s->active.n;
}

uint32_t lmi_sched_n_shared(const struct lmi_sched *s, uint32_t seq)
{
	return rec_of(s, seq)->n_shared;
}

uint32_t lmi_sched_n_match(const struct lmi_sched *s, uint32_t seq)
{
	return rec_of(s, seq)->n_match;
}

uint32_t lmi_sched_pin(struct lmi_sched *s, uint32_t seq, uint32_t n, uint64_t owner,
		       uint64_t until, uint32_t most)
{
	const struct lmi_sched_rec *r = rec_of(s, seq);

	if (!r->o.tokens)
		return 0;
	return lmi_kv_pin(s->kv, &r->o.identity, r->o.tokens, n < r->o.n_known ? n : r->o.n_known,
			  owner, until, most);
}

void lmi_sched_unpin(struct lmi_sched *s, uint64_t now)
{
	lmi_kv_unpin(s->kv, now);
}

uint32_t lmi_sched_n_known(const struct lmi_sched *s, uint32_t seq)
{
	return rec_of(s, seq)->o.n_known;
}

bool lmi_sched_counts(const struct lmi_sched *s, uint32_t k)
{
	const struct lmi_sched_pending *step = &s->step[s->first];
	const struct lmi_sched_rec *r;

	assert(s->n_pending && k < step->n_part);
	r = &s->rec[step->part[k].seq];
	return !r->n_void && !r->removed;
}

double lmi_sched_step_ns(const struct lmi_sched *s, uint32_t n_row)
{
	return lmi_sched_cost_near(&s->cost, n_row);
}

double lmi_sched_step_least_ns(const struct lmi_sched *s, uint32_t n_row)
{
	return lmi_sched_cost_least(&s->cost, n_row);
}

uint32_t lmi_sched_n_done(const struct lmi_sched *s, uint32_t seq)
{
	return rec_of(s, seq)->n_done;
}

uint32_t lmi_sched_kv_seq(const struct lmi_sched *s, uint32_t seq)
{
	const struct lmi_sched_rec *r = rec_of(s, seq);

	return r->state == LMI_SCHED_ACTIVE ? r->kv_seq : LMI_KV_NO_PAGE;
}

static bool check_list(const struct lmi_sched *s, const struct lmi_sched_list *l,
		       enum lmi_sched_state state)
{
	uint32_t n = 0, prev = LMI_SCHED_NO_SEQ;

	for (uint32_t i = l->head; i != LMI_SCHED_NO_SEQ; prev = i, i = s->rec[i].next) {
		const struct lmi_sched_rec *r = &s->rec[i];

		if (n++ > s->n_max || r->state != state || r->prev != prev ||
		    (prev != LMI_SCHED_NO_SEQ && !lmi_sched_comes_before(&s->rec[prev], r)))
			return false;
		if (r->n_done > r->n_planned || r->n_planned > r->o.n_known ||
		    r->o.n_known > r->o.n_limit || r->n_step > s->n_pending ||
		    r->n_void > r->n_step)
			return false;
		if (state == LMI_SCHED_ACTIVE ? lmi_kv_len(s->kv, r->kv_seq) != r->n_done
				    : r->n_planned || r->n_step)
			return false;
	}
	return n == l->n && l->tail == prev;
}

bool lmi_sched_check(const struct lmi_sched *s)
{
	struct lmi_kv_stats kv;
	uint32_t n_used = 0;

	for (uint32_t i = 0; i < s->n_max; i++)
		n_used += s->rec[i].state != LMI_SCHED_FREE;
	lmi_kv_stats(s->kv, &kv);
	return check_list(s, &s->waiting, LMI_SCHED_WAITING) &&
	       check_list(s, &s->active, LMI_SCHED_ACTIVE) &&
	       n_used == s->waiting.n + s->active.n && kv.n_seq - kv.n_seq_free == s->active.n &&
	       lmi_kv_check(s->kv);
}
