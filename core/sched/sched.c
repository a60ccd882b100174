/* SPDX-License-Identifier: MIT
 *
 * The scheduler. Sequences are records in two lists, both in order of arrival: active ones have a
 * seq slot of the KV pool, waiting ones have no memory. comes_before() is the whole priority
 * policy.
 *
 * Progress: the oldest active sequence is never preempted, may preempt any newer one that is not
 * yet part of the step, and was checked at submit to fit alone. If it cannot run in a step because
 * newer ones are already part of it, those run. So every step computes something as long as there
 * is work. */
#include "core/sched/sched.h"

#include <assert.h>

#include "core/base/alloc.h"

/* How many waiting sequences of other plans a sequence may overtake. */
#define LOOK_AHEAD 64u

enum state { FREE, WAITING, ACTIVE };

struct rec {
	struct lmi_sched_seq o;
	enum state state;
	bool planned; /* part of the running step */
	bool removed; /* removed while planned; freed after the step */
	bool encoded;
	uint64_t arrival;   /* unique */
	uint64_t parent_arrival; /* arrival of the parent; 0 = none */
	uint32_t n_done;    /* rows in memory */
	uint32_t n_emitted; /* rows below this one have been output, or never will be */
	uint32_t kv_seq;
	uint32_t next, prev;
};

struct list {
	uint32_t head, tail, n;
};

struct lmi_sched {
	struct lmi_kv *kv;
	uint32_t n_max, n_batch, n_out;
	uint32_t last_plan;
	uint64_t n_arrived;
	struct rec *rec; /* [n_max] */
	struct list waiting, active;
	struct lmi_sched_part *part; /* [kv sequences] */
	uint32_t n_part;
	bool running;
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
	r->n_done = 0;
	r->encoded = false;
	list_insert(s, &s->waiting, i);
}

/* ---- create, submit, remove ---- */

enum lmd_status lmi_sched_create(struct lmi_sched **out, const struct lmi_sched_opts *o,
				 struct lmd_error *err)
{
	struct lmi_kv_stats kv;
	struct lmi_sched *s;

	lmi_kv_stats(o->kv, &kv);
	if (!o->n_max || o->n_batch < kv.n_seq || o->n_out < kv.n_seq)
		return lmd_fail(err, LMD_INVALID,
				"scheduler: a step of %u rows with %u outputs is too small for %u "
				"sequences",
				o->n_batch, o->n_out, kv.n_seq);
	s = lmi_alloc(1, sizeof(*s));
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "scheduler: no memory");
	*s = (struct lmi_sched){.kv = o->kv,
				.n_max = o->n_max,
				.n_batch = o->n_batch,
				.n_out = o->n_out,
				.waiting = {LMI_SCHED_NO_SEQ, LMI_SCHED_NO_SEQ, 0},
				.active = {LMI_SCHED_NO_SEQ, LMI_SCHED_NO_SEQ, 0}};
	s->rec = lmi_alloc(o->n_max, sizeof(*s->rec));
	s->part = lmi_alloc(kv.n_seq, sizeof(*s->part));
	if (!s->rec || !s->part) {
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
	lmi_free(s->part);
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
	s->rec[i] = (struct rec){.o = *o, .state = WAITING, .arrival = ++s->n_arrived};
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

	if (r->o.n_known == r->o.n_limit)
		return false;
	r->o.n_known++;
	return true;
}

bool lmi_sched_retain(struct lmi_sched *s, uint32_t seq)
{
	struct rec *r = rec_of(s, seq);

	assert(!r->planned);
	if (r->state != ACTIVE || !r->n_done)
		return false;
	r->o.n_known = r->n_done;
	return true;
}

void lmi_sched_remove(struct lmi_sched *s, uint32_t seq)
{
	struct rec *r = rec_of(s, seq);

	if (r->planned) {
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
		if (!p || p->state != ACTIVE || p->n_done < r->o.share_rows)
			continue;
		r->parent_arrival = 0;
		if (!lmi_kv_can_fork(s->kv, p->kv_seq, r->o.share_rows))
			continue;
		kv_seq = lmi_kv_fork(s->kv, p->kv_seq, r->o.share_rows);
		if (kv_seq == LMI_KV_NO_PAGE)
			continue;
		activate(s, i, kv_seq);
		r->n_done = r->o.share_rows;
		r->encoded = p->encoded;
		s->stats.n_shared_rows += r->n_done;
	}
}

/* Returns the number of rows of a part after which a waiting sequence wants to start; 0 = none. */
static uint32_t wanted_mark(struct lmi_sched *s, const struct rec *p, uint32_t first, uint32_t n)
{
	for (uint32_t i = s->waiting.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct rec *r = &s->rec[i];

		if (r->parent_arrival && parent_of(s, r) == p && r->o.share_rows > first &&
		    r->o.share_rows < first + n)
			return r->o.share_rows - first;
	}
	return 0;
}

/* ---- the next step ---- */

/* The remaining capacity of the step that is being planned. */
struct budget {
	uint32_t plan, n_row, n_out;
};

static bool has_work(const struct rec *r)
{
	return r->n_done < r->o.n_known && !r->removed;
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

/* Returns how many rows of `r` fit into the budget; 0 = none now. */
static uint32_t chunk_of(const struct rec *r, const struct budget *budget)
{
	uint32_t left = r->o.n_known - r->n_done, n = left;

	if (n > budget->n_row)
		n = budget->n_row;
	if (r->o.max_chunk && r->n_done < r->o.chunk_from && n > r->o.chunk_from - r->n_done)
		n = r->o.chunk_from - r->n_done;
	if (r->o.max_chunk && r->n_done >= r->o.chunk_from && n > r->o.max_chunk)
		n = r->o.max_chunk;
	if (r->o.out == LMI_SCHED_OUT_ALL) {
		uint32_t skip = r->n_emitted > r->n_done ? r->n_emitted - r->n_done : 0;

		if (n > skip + budget->n_out)
			n = skip + budget->n_out;
	} else if (r->o.out == LMI_SCHED_OUT_LAST && n == left && !budget->n_out) {
		n--;
	}
	return r->o.whole && n < left ? 0 : n;
}

static uint32_t outputs_of(const struct rec *r, uint32_t n)
{
	uint32_t end = r->n_done + n;

	if (r->o.out == LMI_SCHED_OUT_NONE)
		return 0;
	if (r->o.out == LMI_SCHED_OUT_LAST)
		return end == r->o.n_known;
	if (end <= r->n_emitted)
		return 0;
	return end - (r->n_emitted > r->n_done ? r->n_emitted : r->n_done);
}

/* Returns the newest active sequence that arrived after `r` and is not part of the step, or
 * LMI_SCHED_NO_SEQ. */
static uint32_t victim_for(const struct lmi_sched *s, const struct rec *r)
{
	for (uint32_t i = s->active.tail; i != LMI_SCHED_NO_SEQ; i = s->rec[i].prev) {
		if (&s->rec[i] == r || comes_before(&s->rec[i], r))
			return LMI_SCHED_NO_SEQ;
		if (!s->rec[i].planned)
			return i;
	}
	return LMI_SCHED_NO_SEQ;
}

static bool reserve(struct lmi_sched *s, const struct rec *r, uint32_t n, uint32_t mark)
{
	while (!lmi_kv_reserve(s->kv, r->kv_seq, n, &mark, mark != 0)) {
		uint32_t v = victim_for(s, r);

		if (mark) {
			mark = 0; /* a mark is optional */
			continue;
		}
		if (v == LMI_SCHED_NO_SEQ)
			return false;
		restart(s, v);
		s->stats.n_preempted++;
	}
	return true;
}

static void add_part(struct lmi_sched *s, uint32_t i, struct lmi_sched_part p,
		     struct budget *budget)
{
	struct rec *r = &s->rec[i];

	p.seq = i;
	p.kv_seq = r->kv_seq;
	s->part[s->n_part++] = p;
	r->planned = true;
	budget->n_row -= p.n;
	budget->n_out -= p.n_out;
}

/* Adds an active sequence to the step if it has work for this plan and the budget allows it. */
static void plan_seq(struct lmi_sched *s, uint32_t i, struct budget *budget)
{
	struct rec *r = &s->rec[i];
	struct lmi_sched_part p = {.first = r->n_done};

	if (r->planned || !has_work(r) || plan_of(r) != budget->plan || !budget->n_row)
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
	p.mark = wanted_mark(s, r, p.first, p.n);
	if (!reserve(s, r, p.n, p.mark))
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

	if (i == LMI_SCHED_NO_SEQ || !budget->n_row)
		return false;
	if (i != head && (lmi_kv_n_free_seq(s->kv) < 2 ||
			  !lmi_kv_fits(s->kv, s->rec[head].o.n_known, s->n_batch)))
		return false;
	return start(s, i, budget);
}

static void plan_step(struct lmi_sched *s, struct budget *budget)
{
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (s->rec[i].o.n_known - s->rec[i].n_done == 1)
			plan_seq(s, i, budget);
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		plan_seq(s, i, budget);
	while (admit(s, budget))
		;
}

bool lmi_sched_next(struct lmi_sched *s, struct lmi_sched_step *out)
{
	struct budget budget = {0};
	uint32_t first = 0;

	assert(!s->running);
	start_shared(s);
	s->n_part = 0;
	/* a plan whose only work waits for memory must not block the others */
	for (bool second_pass = false; !s->n_part; second_pass = true) {
		if (!pick_plan(s, &budget.plan) || (second_pass && budget.plan == first))
			return false;
		first = second_pass ? first : budget.plan;
		budget.n_row = s->n_batch;
		budget.n_out = s->n_out;
		plan_step(s, &budget);
		s->last_plan = budget.plan;
	}
	s->running = true;
	s->stats.n_step++;
	s->stats.n_row += s->n_batch - budget.n_row;
	*out = (struct lmi_sched_step){.plan = budget.plan,
				       .n_row = s->n_batch - budget.n_row,
				       .n_out = s->n_out - budget.n_out,
				       .n_part = s->n_part,
				       .parts = s->part};
	return true;
}

void lmi_sched_done(struct lmi_sched *s, bool ran)
{
	assert(s->running);
	s->running = false;
	for (uint32_t k = 0; k < s->n_part; k++) {
		const struct lmi_sched_part *p = &s->part[k];
		struct rec *r = &s->rec[p->seq];

		r->planned = false;
		if (!p->encode)
			lmi_kv_commit(s->kv, r->kv_seq, ran ? p->n : 0);
		else
			r->encoded = ran;
		if (!ran || p->encode)
			continue;
		r->n_done += p->n;
		if (r->n_emitted < r->n_done)
			r->n_emitted = r->n_done;
	}
	/* fork first: trimming drops marks and pages that the forks need */
	if (ran)
		start_shared(s);
	for (uint32_t k = 0; k < s->n_part; k++) {
		uint32_t i = s->part[k].seq;

		if (s->rec[i].removed)
			lmi_sched_remove(s, i);
		else if (!ran)
			restart(s, i);
		else if (!s->part[k].encode)
			lmi_kv_trim(s->kv, s->rec[i].kv_seq);
	}
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
		if (r->n_done > r->o.n_known || r->o.n_known > r->o.n_limit)
			return false;
		if (state == ACTIVE ? lmi_kv_len(s->kv, r->kv_seq) != r->n_done : r->n_done != 0)
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
