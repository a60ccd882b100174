/* SPDX-License-Identifier: MIT
 *
 * The scheduler. Sequences are records in two lists, both in order of arrival: active ones have a
 * seq slot of the KV pool, waiting ones have no memory. comes_before() is the whole priority
 * policy.
 *
 * Progress: the oldest active sequence is never preempted, may preempt any newer one that is not
 * part of a pending step, and was checked at submit to fit alone. If it cannot run in a step because
 * newer ones are part of it or of one before, those run, but they do not get ahead of their pending
 * steps, so that they can be preempted when those have ended. So something is computed as long as
 * there is work. */
#include "core/sched/sched.h"

#include <assert.h>

#include "core/base/alloc.h"

/* How many waiting sequences of other plans a sequence may overtake. */
#define LOOK_AHEAD 64u

#define NO_DRAFT UINT32_MAX

enum state { FREE, WAITING, ACTIVE };

struct rec {
	struct lmi_sched_seq o;
	enum state state;
	uint32_t n_step; /* pending steps that it is part of */
	uint32_t n_void; /* those of them that do not count */
	bool restarts; /* a step failed; starts again after its pending steps */
	bool removed; /* removed while part of a step; freed after its pending steps */
	bool encoded; /* or a pending step does that */
	uint64_t arrival;   /* unique */
	uint64_t parent_arrival; /* arrival of the parent; 0 = none */
	uint32_t n_done;    /* rows in memory */
	uint32_t n_planned; /* rows in memory and in pending steps */
	uint32_t draft_from; /* known rows from this one on are drafts; NO_DRAFT: none are */
	uint32_t n_emitted; /* rows below this one have been output, or never will be */
	uint32_t kv_seq;
	uint32_t next, prev;
};

struct list {
	uint32_t head, tail, n;
};

struct pending {
	struct lmi_sched_part *part; /* [kv sequences] */
	uint32_t n_part;
};

struct lmi_sched {
	struct lmi_kv *kv;
	uint32_t n_max, n_batch, n_out;
	uint32_t last_plan;
	uint64_t n_arrived;
	struct rec *rec; /* [n_max] */
	struct list waiting, active;
	struct pending step[LMI_KV_MAX_STEP]; /* the oldest is step[first], then round the ring */
	uint32_t n_step, first, n_pending;
	bool starved; /* a sequence lacks memory that newer sequences in pending steps hold */
	struct lmi_sched_stats stats;
};

/* ---- lists ---- */

static bool comes_before(const struct rec *a, const struct rec *b)
{
	return a->arrival < b->arrival;
}

static void list_insert(struct lmi_sched *s, struct list *l, uint32_t i)
{
	uint32_t after = l->tail;

	while (after != LMI_SCHED_NO_SEQ && comes_before(&s->rec[i], &s->rec[after]))
		after = s->rec[after].prev;
	s->rec[i].prev = after;
	s->rec[i].next = after == LMI_SCHED_NO_SEQ ? l->head : s->rec[after].next;
	*(after == LMI_SCHED_NO_SEQ ? &l->head : &s->rec[after].next) = i;
	*(s->rec[i].next == LMI_SCHED_NO_SEQ ? &l->tail : &s->rec[s->rec[i].next].prev) = i;
	l->n++;
}

static void list_remove(struct lmi_sched *s, struct list *l, uint32_t i)
{
	const struct rec *r = &s->rec[i];

	*(r->prev == LMI_SCHED_NO_SEQ ? &l->head : &s->rec[r->prev].next) = r->next;
	*(r->next == LMI_SCHED_NO_SEQ ? &l->tail : &s->rec[r->next].prev) = r->prev;
	l->n--;
}

static void activate(struct lmi_sched *s, uint32_t i, uint32_t kv_seq)
{
	list_remove(s, &s->waiting, i);
	s->rec[i].state = ACTIVE;
	s->rec[i].kv_seq = kv_seq;
	list_insert(s, &s->active, i);
}

/* Preempts a sequence: frees its memory and puts it back into the queue. */
static void restart(struct lmi_sched *s, uint32_t i)
{
	struct rec *r = &s->rec[i];

	lmi_kv_close(s->kv, r->kv_seq);
	list_remove(s, &s->active, i);
	r->state = WAITING;
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
				.waiting = {LMI_SCHED_NO_SEQ, LMI_SCHED_NO_SEQ, 0},
				.active = {LMI_SCHED_NO_SEQ, LMI_SCHED_NO_SEQ, 0}};
	s->rec = lmi_alloc(o->n_max, sizeof(*s->rec));
	for (uint32_t i = 0; i < s->n_step; i++) {
		s->step[i].part = lmi_alloc(kv.n_seq, sizeof(*s->step[i].part));
		no_memory |= !s->step[i].part;
	}
	if (!s->rec || no_memory) {
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
	if (o->share != LMI_SCHED_NO_SEQ &&
	    (o->share >= s->n_max || s->rec[o->share].state == FREE || !o->share_rows ||
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
	while (i < s->n_max && s->rec[i].state != FREE)
		i++;
	if (i == s->n_max)
		return lmd_fail(err, LMD_BUSY, "all %u sequence slots of the scheduler are in use",
				s->n_max);
	s->rec[i] = (struct rec){.o = *o,
				 .state = WAITING,
				 .draft_from = NO_DRAFT,
				 .arrival = ++s->n_arrived};
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

static struct rec *rec_of(const struct lmi_sched *s, uint32_t seq)
{
	assert(seq < s->n_max && s->rec[seq].state != FREE);
	return &s->rec[seq];
}

bool lmi_sched_grow(struct lmi_sched *s, uint32_t seq)
{
	struct rec *r = rec_of(s, seq);

	assert(r->draft_from == NO_DRAFT);
	if (r->o.n_known == r->o.n_limit)
		return false;
	r->o.n_known++;
	return true;
}

bool lmi_sched_grow_drafts(struct lmi_sched *s, uint32_t seq, uint32_t n)
{
	struct rec *r = rec_of(s, seq);

	if (n > r->o.n_limit - r->o.n_known || n > LMI_KV_MAX_MARK || r->draft_from != NO_DRAFT)
		return false;
	r->draft_from = n ? r->o.n_known : NO_DRAFT;
	r->o.n_known += n;
	return true;
}

/* Forgets the known rows from row n on. */
static void forget_rows(struct rec *r, uint32_t n)
{
	r->o.n_known = n;
	r->draft_from = NO_DRAFT;
	if (r->n_emitted > n)
		r->n_emitted = n;
}

void lmi_sched_truncate(struct lmi_sched *s, uint32_t seq, uint32_t n)
{
	struct rec *r = rec_of(s, seq);

	assert(!r->n_step && n && n <= r->o.n_known);
	forget_rows(r, n);
	if (r->n_done <= n)
		return;
	if (lmi_kv_truncate(s->kv, r->kv_seq, n))
		r->n_done = r->n_planned = n;
	else
		restart(s, seq);
}

bool lmi_sched_retain(struct lmi_sched *s, uint32_t seq)
{
	struct rec *r = rec_of(s, seq);

	if (r->state != ACTIVE || !r->n_done || r->n_step)
		return false;
	r->o.n_known = r->n_done;
	return true;
}

void lmi_sched_remove(struct lmi_sched *s, uint32_t seq)
{
	struct rec *r = rec_of(s, seq);

	if (r->n_step) {
		r->removed = true;
		return;
	}
	if (r->state == ACTIVE)
		lmi_kv_close(s->kv, r->kv_seq);
	list_remove(s, r->state == ACTIVE ? &s->active : &s->waiting, seq);
	r->state = FREE;
}

/* ---- sharing ---- */

/* Returns the parent whose rows a waiting sequence may still share; NULL if it no longer can. */
static const struct rec *parent_of(const struct lmi_sched *s, struct rec *r)
{
	const struct rec *p;

	if (!r->parent_arrival)
		return NULL;
	p = &s->rec[r->o.share];
	if (p->state != FREE && p->arrival == r->parent_arrival && !p->removed)
		return p;
	r->parent_arrival = 0;
	return NULL;
}

/* Starts waiting sequences whose parent has computed the rows that they share. */
static void start_shared(struct lmi_sched *s)
{
	for (uint32_t i = s->waiting.head, next; i != LMI_SCHED_NO_SEQ; i = next) {
		struct rec *r = &s->rec[i];
		const struct rec *p = parent_of(s, r);
		uint32_t kv_seq;

		next = r->next;
		if (!p || p->state != ACTIVE || p->n_done < r->o.share_rows || p->n_void ||
		    p->restarts)
			continue;
		r->parent_arrival = 0;
		if (!lmi_kv_can_fork(s->kv, p->kv_seq, r->o.share_rows))
			continue;
		kv_seq = lmi_kv_fork(s->kv, p->kv_seq, r->o.share_rows);
		if (kv_seq == LMI_KV_NO_PAGE)
			continue;
		activate(s, i, kv_seq);
		r->n_done = r->n_planned = r->o.share_rows;
		r->encoded = p->encoded;
		s->stats.n_shared_rows += r->n_done;
	}
}

/* Inserts a mark after n rows, in order; returns false if there is no room. */
static bool add_mark(struct lmi_sched_part *p, uint32_t n)
{
	uint32_t i = p->n_mark;

	while (i && p->mark[i - 1] > n)
		i--;
	if (i && p->mark[i - 1] == n)
		return true;
	if (p->n_mark == LMI_KV_MAX_MARK)
		return false;
	for (uint32_t k = p->n_mark++; k > i; k--)
		p->mark[k] = p->mark[k - 1];
	p->mark[i] = n;
	return true;
}

/* Marks the rows of a part after which a waiting sequence wants to start. */
static void mark_forks(struct lmi_sched *s, const struct rec *p, struct lmi_sched_part *part)
{
	for (uint32_t i = s->waiting.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct rec *r = &s->rec[i];

		if (r->parent_arrival && parent_of(s, r) == p && r->o.share_rows > part->first &&
		    r->o.share_rows < part->first + part->n &&
		    !add_mark(part, r->o.share_rows - part->first))
			return;
	}
}

/* Marks the rows of a part after which drafts can be rejected. */
static void mark_drafts(const struct rec *r, struct lmi_sched_part *p)
{
	if (r->draft_from == NO_DRAFT)
		return;
	for (uint32_t n = 1; n < p->n; n++)
		if (p->first + n >= r->draft_from)
			(void)add_mark(p, n); /* there are no more drafts than marks */
}

/* Does a waiting sequence want to start after exactly the planned rows? Then the next step must wait
 * for the fork, because it may overwrite the state. */
static bool must_fork_first(struct lmi_sched *s, const struct rec *p)
{
	for (uint32_t i = s->waiting.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct rec *r = &s->rec[i];

		if (r->parent_arrival && parent_of(s, r) == p && r->o.share_rows == p->n_planned)
			return true;
	}
	return false;
}

/* ---- the next step ---- */

/* The remaining capacity of the step that is being planned. */
struct budget {
	uint32_t plan, n_row, n_out;
	uint32_t n_part; /* parts that may still be added */
	uint32_t n_over; /* of n_row, rows that only a part that cannot be split may use */
};

static bool has_work(const struct rec *r)
{
	return r->n_planned < r->o.n_known && !r->removed && !r->n_void && !r->restarts;
}

static uint32_t plan_of(const struct rec *r)
{
	return r->o.n_encode && !r->encoded ? r->o.encode_plan : r->o.plan;
}

/* Selects plans round robin: the next greater number that has work, else the smallest. */
static bool pick_plan(const struct lmi_sched *s, uint32_t *plan)
{
	bool any = false, found_next = false;
	uint32_t least = 0, next = 0;

	for (int k = 0; k < 2; k++) {
		uint32_t i = k ? s->waiting.head : s->active.head;

		for (; i != LMI_SCHED_NO_SEQ; i = k ? LMI_SCHED_NO_SEQ : s->rec[i].next) {
			uint32_t p = plan_of(&s->rec[i]);

			if (!has_work(&s->rec[i]))
				continue;
			if (!any || p < least)
				least = p;
			if (p > s->last_plan && (!found_next || p < next)) {
				next = p;
				found_next = true;
			}
			any = true;
		}
	}
	*plan = found_next ? next : least;
	return any;
}

/* Returns the first row to be output, of those that are not planned yet. */
static uint32_t next_output(const struct rec *r)
{
	uint32_t row = r->n_emitted;

	if (r->o.out == LMI_SCHED_OUT_NONE)
		return UINT32_MAX;
	if (r->o.out == LMI_SCHED_OUT_LAST)
		row = (r->draft_from < r->o.n_known ? r->draft_from : r->o.n_known) - 1;
	return row > r->n_planned ? row : r->n_planned;
}

/* Returns how many rows of `r` fit into the budget; 0 = none now. */
static uint32_t chunk_of(const struct rec *r, const struct budget *budget)
{
	uint32_t left = r->o.n_known - r->n_planned, n = left, skip = next_output(r) - r->n_planned;
	uint32_t room = r->o.whole			  ? budget->n_row
			: budget->n_row > budget->n_over ? budget->n_row - budget->n_over
							  : 0;

	if (n > room)
		n = room;
	if (r->o.max_chunk && r->n_planned < r->o.chunk_from &&
	    n > r->o.chunk_from - r->n_planned)
		n = r->o.chunk_from - r->n_planned;
	if (r->o.max_chunk && r->n_planned >= r->o.chunk_from && n > r->o.max_chunk)
		n = r->o.max_chunk;
	if (skip < n && n - skip > budget->n_out)
		n = skip + budget->n_out;
	return r->o.whole && n < left ? 0 : n;
}

static uint32_t outputs_of(const struct rec *r, uint32_t n)
{
	uint32_t end = r->n_planned + n, from = next_output(r);

	return end > from ? end - from : 0;
}

/* Returns the newest active sequence that arrived after `r` and is not part of a step, or
 * LMI_SCHED_NO_SEQ. */
static uint32_t victim_for(const struct lmi_sched *s, const struct rec *r)
{
	for (uint32_t i = s->active.tail; i != LMI_SCHED_NO_SEQ; i = s->rec[i].prev) {
		if (&s->rec[i] == r || comes_before(&s->rec[i], r))
			return LMI_SCHED_NO_SEQ;
		if (!s->rec[i].n_step)
			return i;
	}
	return LMI_SCHED_NO_SEQ;
}

/* Reserves memory for a part. Marks for forks are dropped if there is no memory for them. */
static bool reserve(struct lmi_sched *s, const struct rec *r, struct lmi_sched_part *p)
{
	bool forks = true;

	p->n_mark = 0;
	mark_drafts(r, p);
	mark_forks(s, r, p);
	while (!lmi_kv_reserve(s->kv, r->kv_seq, p->n, p->mark, p->n_mark)) {
		uint32_t v = victim_for(s, r);

		if (r->n_step)
			return false; /* it can wait for its pending steps */
		if (forks) {
			forks = false;
			p->n_mark = 0;
			mark_drafts(r, p);
			continue;
		}
		if (v == LMI_SCHED_NO_SEQ) {
			s->starved = s->n_pending;
			return false;
		}
		restart(s, v);
		s->stats.n_preempted++;
	}
	return true;
}

/* The step that is being planned. */
static struct pending *next_step(struct lmi_sched *s)
{
	return &s->step[(s->first + s->n_pending) % s->n_step];
}

/* Is it part of the step that is being planned? Parts are added last. */
static bool is_planned(struct lmi_sched *s, uint32_t i)
{
	const struct pending *step = next_step(s);

	for (uint32_t k = step->n_part; k-- > 0;)
		if (step->part[k].seq == i)
			return true;
	return false;
}

static void add_part(struct lmi_sched *s, uint32_t i, struct lmi_sched_part p,
		     struct budget *budget)
{
	struct pending *step = next_step(s);
	struct rec *r = &s->rec[i];

	p.seq = i;
	p.kv_seq = r->kv_seq;
	step->part[step->n_part++] = p;
	r->n_step++;
	if (p.encode)
		r->encoded = true;
	else
		r->n_planned += p.n;
	budget->n_row -= p.n;
	budget->n_out -= p.n_out;
	budget->n_part--;
}

/* Adds an active sequence to the step if it has work for this plan and the budget allows it. */
static void plan_seq(struct lmi_sched *s, uint32_t i, struct budget *budget)
{
	struct rec *r = &s->rec[i];
	struct lmi_sched_part p = {.first = r->n_planned};

	if (!has_work(r) || plan_of(r) != budget->plan || !budget->n_row || !budget->n_part)
		return;
	if (r->n_step && (s->starved || is_planned(s, i) || must_fork_first(s, r)))
		return;
	if (r->o.n_encode && !r->encoded) {
		p = (struct lmi_sched_part){.n = r->o.n_encode, .encode = true};
		if (p.n <= budget->n_row)
			add_part(s, i, p, budget);
		return;
	}
	p.n = chunk_of(r, budget);
	if (!p.n)
		return;
	if (!reserve(s, r, &p))
		return;
	p.n_out = outputs_of(r, p.n);
	add_part(s, i, p, budget);
}

/* Starts a waiting sequence if there is free memory for all its known rows. */
static bool start(struct lmi_sched *s, uint32_t i, struct budget *budget)
{
	struct rec *r = &s->rec[i];
	uint32_t kv_seq;

	if (parent_of(s, r))
		return false;
	if (r->o.n_encode ? r->o.n_encode > budget->n_row : !chunk_of(r, budget))
		return false;
	if (!lmi_kv_fits(s->kv, r->o.n_known, s->n_batch))
		return false;
	kv_seq = lmi_kv_open(s->kv);
	if (kv_seq == LMI_KV_NO_PAGE)
		return false;
	if (r->o.n_encode && !lmi_kv_reserve_cross(s->kv, kv_seq, r->o.n_encode)) {
		lmi_kv_close(s->kv, kv_seq);
		return false;
	}
	activate(s, i, kv_seq);
	plan_seq(s, i, budget);
	return true;
}

/* Returns the first waiting sequence with the plan of the step, at most LOOK_AHEAD places back. */
static uint32_t first_of_plan(const struct lmi_sched *s, uint32_t plan)
{
	uint32_t i = s->waiting.head;

	for (uint32_t n = 0; i != LMI_SCHED_NO_SEQ && plan_of(&s->rec[i]) != plan; n++) {
		if (n == LOOK_AHEAD)
			return LMI_SCHED_NO_SEQ;
		i = s->rec[i].next;
	}
	return i;
}

/* Starts the next waiting sequence. It may overtake sequences of other plans, which cannot be part
 * of this step, as long as the head of the queue could start as well. Since plans take turns, the
 * head starts when its plan is next; a head that waits for memory is never overtaken. */
static bool admit(struct lmi_sched *s, struct budget *budget)
{
	uint32_t head = s->waiting.head, i = first_of_plan(s, budget->plan);

	if (i == LMI_SCHED_NO_SEQ || !budget->n_row || !budget->n_part || s->starved)
		return false;
	if (i != head && (lmi_kv_n_free_seq(s->kv) < 2 ||
			  !lmi_kv_fits(s->kv, s->rec[head].o.n_known, s->n_batch)))
		return false;
	return start(s, i, budget);
}

/* Does it lack nothing but its last row, or its drafts and the row before? */
static bool lacks_new_rows(const struct rec *r)
{
	uint32_t n = r->draft_from < r->o.n_known ? r->draft_from : r->o.n_known;

	return r->n_planned + 1 == n;
}

static void plan_step(struct lmi_sched *s, struct budget *budget)
{
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (lacks_new_rows(&s->rec[i]))
			plan_seq(s, i, budget);
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		plan_seq(s, i, budget);
	while (admit(s, budget))
		;
}

/* Plans are tried in ascending order from some number on, then again from the smallest. */
struct plan_turn {
	bool first, wrapped;
	uint32_t from, last;
};

/* Returns false if this plan, or one that followed it, has been tried. */
static bool is_new_plan(struct plan_turn *t, uint32_t plan)
{
	if (t->first) {
		*t = (struct plan_turn){.from = plan, .last = plan};
		return true;
	}
	if (plan <= t->last) {
		if (t->wrapped)
			return false;
		t->wrapped = true;
	}
	t->last = plan;
	return !t->wrapped || plan < t->from;
}

static struct budget full_budget(const struct lmi_sched *s, const struct lmi_sched_limit *limit,
				 uint32_t plan)
{
	struct budget b = {.plan = plan, .n_row = s->n_batch, .n_out = s->n_out, .n_part = UINT32_MAX};

	if (limit && limit->n_part)
		b.n_part = limit->n_part;
	if (limit && limit->n_row && limit->n_row < s->n_batch)
		b.n_over = s->n_batch - limit->n_row;
	return b;
}

bool lmi_sched_next(struct lmi_sched *s, const struct lmi_sched_limit *limit,
		    struct lmi_sched_step *out)
{
	struct budget budget = {0};
	struct plan_turn turn = {.first = true};
	struct pending *step;
	uint32_t plan;

	if (s->n_pending == s->n_step)
		return false;
	start_shared(s);
	s->starved = false;
	step = next_step(s);
	step->n_part = 0;
	/* a plan whose only work waits for memory must not block the others */
	while (!step->n_part) {
		if (!pick_plan(s, &plan) || !is_new_plan(&turn, plan))
			return false;
		budget = full_budget(s, limit, plan);
		plan_step(s, &budget);
		s->last_plan = plan;
	}
	s->n_pending++;
	s->stats.n_step++;
	s->stats.n_row += s->n_batch - budget.n_row;
	*out = (struct lmi_sched_step){.plan = budget.plan,
				       .n_row = s->n_batch - budget.n_row,
				       .n_out = s->n_out - budget.n_out,
				       .n_part = step->n_part,
				       .parts = step->part};
	return true;
}

/* Ends a part of the oldest step, of which n rows count if nothing before it has failed. */
static void commit_part(struct lmi_sched *s, struct lmi_sched_part *p, bool ran, uint32_t n)
{
	struct rec *r = &s->rec[p->seq];
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
		r->draft_from = NO_DRAFT;
	if (r->n_emitted < r->n_done)
		r->n_emitted = r->n_done;
}

void lmi_sched_commit(struct lmi_sched *s, bool ran, const uint32_t *kept)
{
	struct pending *step = &s->step[s->first];

	assert(s->n_pending);
	s->n_pending--;
	s->first = (s->first + 1) % s->n_step;
	for (uint32_t k = 0; k < step->n_part; k++)
		commit_part(s, &step->part[k], ran, kept ? kept[k] : step->part[k].n);
	/* fork first: trimming drops marks and pages that the forks need */
	if (ran)
		start_shared(s);
	for (uint32_t k = 0; k < step->n_part; k++) {
		uint32_t i = step->part[k].seq;

		if (s->rec[i].removed)
			lmi_sched_remove(s, i); /* frees it after its last step */
		else if (s->rec[i].restarts && !s->rec[i].n_step)
			restart(s, i);
		else if (step->part[k].n_kept && !step->part[k].encode)
			lmi_kv_trim(s->kv, s->rec[i].kv_seq);
	}
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

uint32_t lmi_sched_n_done(const struct lmi_sched *s, uint32_t seq)
{
	return rec_of(s, seq)->n_done;
}

static bool check_list(const struct lmi_sched *s, const struct list *l, enum state state)
{
	uint32_t n = 0, prev = LMI_SCHED_NO_SEQ;

	for (uint32_t i = l->head; i != LMI_SCHED_NO_SEQ; prev = i, i = s->rec[i].next) {
		const struct rec *r = &s->rec[i];

		if (n++ > s->n_max || r->state != state || r->prev != prev ||
		    (prev != LMI_SCHED_NO_SEQ && !comes_before(&s->rec[prev], r)))
			return false;
		if (r->n_done > r->n_planned || r->n_planned > r->o.n_known ||
		    r->o.n_known > r->o.n_limit || r->n_step > s->n_pending ||
		    r->n_void > r->n_step)
			return false;
		if (state == ACTIVE ? lmi_kv_len(s->kv, r->kv_seq) != r->n_done
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
		n_used += s->rec[i].state != FREE;
	lmi_kv_stats(s->kv, &kv);
	return check_list(s, &s->waiting, WAITING) && check_list(s, &s->active, ACTIVE) &&
	       n_used == s->waiting.n + s->active.n && kv.n_seq - kv.n_seq_free == s->active.n &&
	       lmi_kv_check(s->kv);
}
