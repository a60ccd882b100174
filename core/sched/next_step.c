/* SPDX-License-Identifier: MIT
 *
 * What the next step consists of.
 *
 * Progress: the oldest active sequence is never preempted, may preempt any newer one that is not
 * part of a pending step, and was checked at submit to fit alone. If it cannot run in a step because
 * newer ones are part of it or of one before, those run, but they do not get ahead of their pending
 * steps, so that they can be preempted when those have ended. So something is computed as long as
 * there is work. */
#include "core/sched/sched_impl.h"

/* A step has room for so many rows of prompts, and for a page, however long it takes. */
#define PROMPT_ROWS_MIN 16u

/* The remaining capacity of the step that is being planned. */
struct budget {
	uint32_t plan, n_row, n_out;
	uint32_t n_part; /* parts that may still be added */
	uint32_t n_over; /* of n_row, rows that only a part that cannot be split may use */
	uint32_t n_draft; /* rows that drafts may use */
	uint64_t bound_ns; /* how long the step may take; 0: any time */
};

/* Number of known rows that may be computed. */
static uint32_t n_ready(const struct lmi_sched_rec *r)
{
	uint32_t n = r->o.n_known - r->held;

	return r->stop < n && r->n_planned <= r->stop ? r->stop : n;
}

bool lmi_sched_has_work(const struct lmi_sched_rec *r)
{
	return r->n_planned < n_ready(r) && !r->removed && !r->n_void && !r->restarts;
}

static uint32_t plan_of(const struct lmi_sched_rec *r)
{
	return r->o.n_encode && !r->encoded ? r->o.encode_plan : r->o.plan;
}

/* Is a waiting sequence to start before another one, which arrived earlier? Those that were preempted
 * come first. */
static bool starts_before(const struct lmi_sched *s, const struct lmi_sched_rec *a,
			  const struct lmi_sched_rec *b)
{
	if (a->started != b->started)
		return a->started;
	return !a->started && lmi_sched_fair_less(&s->fair, a->account, b->account);
}

/* Does it share the rows of a sequence that has yet to start? The oldest sequence does not, because a
 * parent is older. */
static bool waits_for_start(const struct lmi_sched *s, struct lmi_sched_rec *r)
{
	const struct lmi_sched_rec *p = lmi_sched_parent_of(s, r);

	return p && p->state == LMI_SCHED_WAITING && !r->o.tokens;
}

/* Returns the waiting sequence that starts next. */
static uint32_t head_of(const struct lmi_sched *s)
{
	uint32_t best = s->waiting.head;

	for (uint32_t i = best; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (starts_before(s, &s->rec[i], &s->rec[best]) && !waits_for_start(s, &s->rec[i]))
			best = i;
	return best;
}

/* Selects plans round robin: the next greater number that has work, else the smallest. */
static bool pick_plan(const struct lmi_sched *s, uint32_t *plan)
{
	bool any = false, found_next = false;
	uint32_t least = 0, next = 0;

	for (int k = 0; k < 2; k++) {
		uint32_t i = k ? head_of(s) : s->active.head;

		for (; i != LMI_SCHED_NO_SEQ; i = k ? LMI_SCHED_NO_SEQ : s->rec[i].next) {
			uint32_t p = plan_of(&s->rec[i]);

			if (!lmi_sched_has_work(&s->rec[i]))
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
static uint32_t next_output(const struct lmi_sched_rec *r)
{
	uint32_t row = r->n_emitted;

	if (r->o.out == LMI_SCHED_OUT_NONE)
		return UINT32_MAX;
	if (r->o.out == LMI_SCHED_OUT_LAST)
		row = (r->draft_from < r->o.n_known ? r->draft_from : r->o.n_known) - 1;
	return row > r->n_planned ? row : r->n_planned;
}

/* Returns how many of the next n rows of `r` are drafts. */
static uint32_t drafts_of(const struct lmi_sched_rec *r, uint32_t n)
{
	uint32_t end = r->n_planned + n;

	return end > r->draft_from ? end - r->draft_from : 0;
}

/* Returns how many rows of `r` fit into the budget; 0 = none now. */
static uint32_t chunk_of(const struct lmi_sched_rec *r, const struct budget *budget)
{
	uint32_t left = n_ready(r) - r->n_planned, n = left, skip = next_output(r) - r->n_planned;
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
	if (r->o.n_span) {
		uint32_t most = budget->n_row;

		if (skip < most && most - skip > budget->n_out)
			most = skip + budget->n_out;
		n = lmi_sched_uncut(r, n, most);
	}
	if (drafts_of(r, n) > budget->n_draft)
		n -= drafts_of(r, n) - budget->n_draft;
	return r->o.whole && n < left ? 0 : n;
}

static uint32_t outputs_of(const struct lmi_sched_rec *r, uint32_t n)
{
	uint32_t end = r->n_planned + n, from = next_output(r);

	return end > from ? end - from : 0;
}

/* Returns the newest active sequence that arrived after `r` and is not part of a step, or
 * LMI_SCHED_NO_SEQ. */
static uint32_t victim_for(const struct lmi_sched *s, const struct lmi_sched_rec *r)
{
	for (uint32_t i = s->active.tail; i != LMI_SCHED_NO_SEQ; i = s->rec[i].prev) {
		if (&s->rec[i] == r || lmi_sched_comes_before(&s->rec[i], r))
			return LMI_SCHED_NO_SEQ;
		if (!s->rec[i].n_step)
			return i;
	}
	return LMI_SCHED_NO_SEQ;
}

/* Drafts are computed in one step, together with the row before them, whose output decides about the
 * first one. Forgets those that a part of n rows does not contain. */
static void drop_drafts_after(struct lmi_sched_rec *r, uint32_t n)
{
	uint32_t end = r->n_planned + n;

	if (r->draft_from > end || r->o.n_known == end)
		return;
	r->o.n_known = end;
	if (r->draft_from == end)
		r->draft_from = LMI_SCHED_NO_DRAFT;
}

/* Leaves the drafts out of a part. */
static void drop_drafts(struct lmi_sched_rec *r, struct lmi_sched_part *p)
{
	p->n -= drafts_of(r, p->n);
	drop_drafts_after(r, p->n);
}

/* Reserves memory for a part. Drafts, and marks that are not for drafts, are dropped if there is no
 * memory for them. */
static bool reserve(struct lmi_sched *s, struct lmi_sched_rec *r, struct lmi_sched_part *p)
{
	bool forks = true;

	lmi_sched_mark(s, r, p, true);
	while (!lmi_kv_reserve(s->kv, r->kv_seq, p->n, p->mark, p->n_mark)) {
		uint32_t v = victim_for(s, r);

		if (r->n_step)
			return false; /* it can wait for its pending steps */
		if (forks || drafts_of(r, p->n)) {
			if (!forks)
				drop_drafts(r, p);
			forks = false;
			lmi_sched_mark(s, r, p, false);
			continue;
		}
		if (v == LMI_SCHED_NO_SEQ) {
			s->starved = s->n_pending;
			return false;
		}
		lmi_sched_restart(s, v);
		s->stats.n_preempted++;
	}
	return true;
}

/* The step that is being planned. */
static struct lmi_sched_pending *next_step(struct lmi_sched *s)
{
	return &s->step[(s->first + s->n_pending) % s->n_step];
}

/* Is it part of the step that is being planned? Parts are added last. */
static bool is_planned(struct lmi_sched *s, uint32_t i)
{
	const struct lmi_sched_pending *step = next_step(s);

	for (uint32_t k = step->n_part; k-- > 0;)
		if (step->part[k].seq == i)
			return true;
	return false;
}

static void add_part(struct lmi_sched *s, uint32_t i, struct lmi_sched_part p,
		     struct budget *budget)
{
	struct lmi_sched_pending *step = next_step(s);
	struct lmi_sched_rec *r = &s->rec[i];
	uint32_t n_draft = p.encode ? 0 : drafts_of(r, p.n);

	p.seq = i;
	p.kv_seq = r->kv_seq;
	step->part[step->n_part++] = p;
	r->n_step++;
	if (p.encode)
		r->encoded = true;
	else
		r->n_planned += p.n;
	lmi_sched_fair_charge(&s->fair, r->account, p.n, r->grown && p.n == 1 + n_draft);
	budget->n_row -= p.n;
	budget->n_out -= p.n_out;
	budget->n_draft -= n_draft;
	budget->n_part--;
}

/* Adds an active sequence to the step if it has work for this plan and the budget allows it. */
static void plan_seq(struct lmi_sched *s, uint32_t i, struct budget *budget)
{
	struct lmi_sched_rec *r = &s->rec[i];
	struct lmi_sched_part p = {.first = r->n_planned};

	if (!lmi_sched_has_work(r) || plan_of(r) != budget->plan || !budget->n_row ||
	    !budget->n_part)
		return;
	if (r->n_step && (s->starved || is_planned(s, i) || lmi_sched_must_fork_first(s, r)))
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
	drop_drafts_after(r, p.n);
	if (!reserve(s, r, &p))
		return;
	p.n_out = outputs_of(r, p.n);
	add_part(s, i, p, budget);
}

/* Returns how many rows a sequence may share: those that are not output. */
static uint32_t sharable(const struct lmi_sched_rec *r)
{
	uint32_t n = next_output(r);

	if (!r->o.tokens || r->o.n_encode || r->o.whole)
		return 0;
	n = n < r->o.n_known ? n : r->o.n_known - 1;
	return r->o.n_own && r->o.n_own < n ? r->o.n_own : n;
}

/* Opens a waiting sequence with a prefix of it that is in memory, if there is free memory for all its
 * known rows; otherwise returns LMI_KV_NO_PAGE. */
static uint32_t open_seq(struct lmi_sched *s, struct lmi_sched_rec *r, const struct budget *budget,
			 const struct lmi_kv_prefix *prefix)
{
	bool fits;

	r->n_planned = prefix->n;
	fits = r->o.n_encode ? r->o.n_encode <= budget->n_row
			     : chunk_of(r, budget) || !lmi_sched_has_work(r);
	r->n_planned = 0;
	if (!fits)
		return LMI_KV_NO_PAGE;
	if (!r->o.tokens)
		return lmi_kv_fits(s->kv, r->o.n_known, s->n_batch) ? lmi_kv_open(s->kv)
								     : LMI_KV_NO_PAGE;
	return lmi_kv_fits_after(s->kv, prefix, r->o.n_known, s->n_batch)
		       ? lmi_kv_open_prefix(s->kv, prefix)
		       : LMI_KV_NO_PAGE;
}

/* Starts a sequence with rows of an active one, or lets it wait for them. Returns false if there are
 * none. */
static bool start_after(struct lmi_sched *s, uint32_t i, uint32_t found, struct budget *budget)
{
	struct lmi_sched_rec *r = &s->rec[i];

	if (!lmi_sched_follow(s, r, found, sharable(r)))
		return false;
	if (lmi_sched_waits_for_rows(s, r))
		return true;
	lmi_sched_start_shared(s);
	r->parent_arrival = 0;
	if (r->state == LMI_SCHED_ACTIVE)
		plan_seq(s, i, budget);
	return r->state == LMI_SCHED_ACTIVE;
}

/* Starts a waiting sequence, or lets it wait for rows of another one, so that others may overtake it;
 * returns false if it cannot start now. */
static bool start(struct lmi_sched *s, uint32_t i, struct budget *budget)
{
	struct lmi_sched_rec *r = &s->rec[i];
	struct lmi_kv_prefix prefix = {.node = LMI_KV_NO_NODE};
	const struct lmi_sched_rec *p = lmi_sched_parent_of(s, r);
	uint32_t kv_seq;

	if (p && r->o.tokens && p->state != LMI_SCHED_ACTIVE) {
		r->parent_arrival = 0; /* it may wait behind this one */
		p = NULL;
	}
	if (p || !lmi_kv_n_free_seq(s->kv))
		return false;
	if (r->o.tokens) {
		lmi_kv_find_prefix(s->kv, &r->o.identity, r->o.tokens, sharable(r), &prefix);
		if (!r->started)
			r->n_match = prefix.n_match;
		if (start_after(s, i, prefix.n, budget))
			return true;
	}
	kv_seq = open_seq(s, r, budget, &prefix);
	if (kv_seq == LMI_KV_NO_PAGE)
		return false;
	if (r->o.n_encode && !lmi_kv_reserve_cross(s->kv, kv_seq, r->o.n_encode)) {
		lmi_kv_close(s->kv, kv_seq);
		return false;
	}
	lmi_sched_activate(s, i, kv_seq);
	r->n_done = r->n_planned = lmi_kv_len(s->kv, kv_seq);
	lmi_sched_count_start(s, r, r->n_done);
	plan_seq(s, i, budget);
	return true;
}

/* Returns the waiting sequence with the plan of the step that starts next, or LMI_SCHED_NO_SEQ. */
static uint32_t first_of_plan(const struct lmi_sched *s, uint32_t plan)
{
	uint32_t best = LMI_SCHED_NO_SEQ;

	for (uint32_t i = s->waiting.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (plan_of(&s->rec[i]) == plan &&
		    (best == LMI_SCHED_NO_SEQ || starts_before(s, &s->rec[i], &s->rec[best])) &&
		    !lmi_sched_waits_for_rows(s, &s->rec[i]) && !waits_for_start(s, &s->rec[i]))
			best = i;
	return best;
}

/* Starts the next waiting sequence. It may overtake sequences of other plans, which cannot be part
 * of this step, as long as the head of the queue could start as well. Since plans take turns, the
 * head starts when its plan is next; a head that waits for memory is never overtaken. */
static bool admit(struct lmi_sched *s, struct budget *budget)
{
	uint32_t head, i;

	if (s->waiting.head == LMI_SCHED_NO_SEQ || !budget->n_row || !budget->n_part || s->starved)
		return false;
	head = head_of(s);
	i = first_of_plan(s, budget->plan);
	if (i == LMI_SCHED_NO_SEQ)
		return false;
	if (i != head && (lmi_kv_n_free_seq(s->kv) < 2 ||
			  !lmi_kv_fits(s->kv, s->rec[head].o.n_known, s->n_batch)))
		return false;
	return start(s, i, budget);
}

/* Does it lack nothing but its last row, or its drafts and the row before? */
static bool lacks_new_rows(const struct lmi_sched_rec *r)
{
	uint32_t n = r->draft_from < r->o.n_known ? r->draft_from : r->o.n_known;

	return r->n_planned + 1 == n;
}

/* Returns how long the generating sequences may wait for this step; 0: any time. */
static uint64_t bound_of(const struct lmi_sched *s)
{
	uint64_t bound = 0;

	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		const struct lmi_sched_rec *r = &s->rec[i];
		uint64_t ns = s->target_ns[r->o.class];

		if (r->grown && !r->removed && ns && (!bound || ns < bound))
			bound = ns;
	}
	return bound;
}

/* Leaves only as many rows to prompts as the generating sequences can wait for, but a page at
 * least. */
static void keep_to_bound(const struct lmi_sched *s, struct budget *budget)
{
	uint32_t used = s->n_batch - budget->n_row, page = lmi_kv_page_tokens(s->kv), rows;

	if (page < PROMPT_ROWS_MIN)
		page = PROMPT_ROWS_MIN;
	budget->bound_ns = bound_of(s);
	if (!budget->bound_ns)
		return;
	/* a part is spared, because times vary and grow with the context */
	rows = lmi_sched_cost_rows(&s->cost, budget->bound_ns - budget->bound_ns / 8, s->n_batch);
	rows = rows > used + page ? rows - used : page;
	if (rows < budget->n_row && budget->n_row - rows > budget->n_over)
		budget->n_over = budget->n_row - rows;
}

/* Returns the active sequence that gets the next chunk of the step, or LMI_SCHED_NO_SEQ. */
static uint32_t next_chunk(const struct lmi_sched *s, const struct budget *budget)
{
	uint32_t best = LMI_SCHED_NO_SEQ;

	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		const struct lmi_sched_rec *r = &s->rec[i];

		if (r->tried == s->round || !lmi_sched_has_work(r) || plan_of(r) != budget->plan ||
		    (plan_of(r) == r->o.plan && !chunk_of(r, budget)))
			continue;
		if (best == LMI_SCHED_NO_SEQ ||
		    lmi_sched_fair_less(&s->fair, r->account, s->rec[best].account))
			best = i;
	}
	return best;
}

/* Finds a waiting sequence that could start in a step without drafts, as it would be then. */
static bool find_starter(const struct lmi_sched *s, const struct budget *budget, struct lmi_sched_rec *out)
{
	struct lmi_kv_prefix prefix = {.node = LMI_KV_NO_NODE};
	uint32_t i = first_of_plan(s, budget->plan);

	if (i == LMI_SCHED_NO_SEQ || s->starved || !lmi_kv_n_free_seq(s->kv))
		return false;
	*out = s->rec[i];
	if (!out->o.tokens)
		return lmi_kv_fits(s->kv, out->o.n_known, s->n_batch);
	lmi_kv_find_prefix(s->kv, &out->o.identity, out->o.tokens, sharable(out), &prefix);
	out->n_planned = prefix.n;
	return lmi_kv_fits_after(s->kv, &prefix, out->o.n_known, s->n_batch);
}

/* Returns how many rows drafts leave to prompts, so that those get on: all of them if the next rows of one
 * must run in one step. */
static uint32_t rows_for_prompts(const struct lmi_sched *s, const struct budget *budget)
{
	struct lmi_sched_rec starter;
	bool starts = find_starter(s, budget, &starter), any = starts;

	if (starts && lmi_sched_is_in_span(&starter))
		return UINT32_MAX;
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		const struct lmi_sched_rec *r = &s->rec[i];

		if (lmi_sched_is_in_span(r))
			return UINT32_MAX;
		any |= lmi_sched_has_work(r) && plan_of(r) == budget->plan && !lacks_new_rows(r);
	}
	return !any ? 0 : s->n_batch / 8 < PROMPT_ROWS_MIN ? s->n_batch / 8 : PROMPT_ROWS_MIN;
}

static bool has_drafts(const struct lmi_sched *s)
{
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (s->rec[i].draft_from != LMI_SCHED_NO_DRAFT)
			return true;
	return false;
}

/* Every sequence that lacks a row gets it before others get drafts, and prompts get rows as well. */
static uint32_t rows_for_drafts(const struct lmi_sched *s, const struct budget *budget)
{
	uint32_t room = budget->n_row < budget->n_out ? budget->n_row : budget->n_out, prompts;

	if (!has_drafts(s))
		return 0;
	prompts = rows_for_prompts(s, budget);
	room -= prompts < room ? prompts : room;
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ && room; i = s->rec[i].next)
		room -= lacks_new_rows(&s->rec[i]) && lmi_sched_has_work(&s->rec[i]) &&
			plan_of(&s->rec[i]) == budget->plan;
	return room;
}

static void plan_step(struct lmi_sched *s, struct budget *budget, bool spread)
{
	uint32_t n, i;

	budget->n_draft = rows_for_drafts(s, budget);
	s->round++;
	if (spread)
		lmi_sched_spread(s, budget->plan);
	for (i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (lacks_new_rows(&s->rec[i]) && s->rec[i].tried != s->round)
			plan_seq(s, i, budget);
	n = next_step(s)->n_part;
	keep_to_bound(s, budget);
	while (budget->n_row && budget->n_part && (i = next_chunk(s, budget)) != LMI_SCHED_NO_SEQ) {
		s->rec[i].tried = s->round;
		plan_seq(s, i, budget);
	}
	while (admit(s, budget))
		;
	if (next_step(s)->n_part == n)
		budget->bound_ns = 0; /* nobody waits because of a prompt */
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
	struct budget b = {
		.plan = plan, .n_row = s->n_batch, .n_out = s->n_out, .n_part = UINT32_MAX};

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
	struct lmi_sched_pending *step;
	uint32_t plan;

	if (s->n_pending == s->n_step)
		return false;
	lmi_sched_start_shared(s);
	s->starved = false;
	step = next_step(s);
	step->n_part = 0;
	/* a plan whose only work waits for memory must not block the others */
	while (!step->n_part) {
		if (!pick_plan(s, &plan) || !is_new_plan(&turn, plan))
			return false;
		budget = full_budget(s, limit, plan);
		plan_step(s, &budget, true);
		if (!step->n_part && !s->n_pending) {
			/* maybe those that sit out have the memory that the others lack */
			budget = full_budget(s, limit, plan);
			plan_step(s, &budget, false);
		}
		s->last_plan = plan;
	}
	s->n_pending++;
	s->stats.n_step++;
	s->stats.n_row += s->n_batch - budget.n_row;
	*out = (struct lmi_sched_step){.plan = budget.plan,
				       .n_row = s->n_batch - budget.n_row,
				       .n_out = s->n_out - budget.n_out,
				       .n_part = step->n_part,
				       .bound_ns = budget.bound_ns,
				       .parts = step->part};
	return true;
}
