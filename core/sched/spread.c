/* SPDX-License-Identifier: MIT
 *
 * How many sequences of one client generate in a step.
 *
 * Each row makes a step longer for everybody. The clients that generate with the fewest sequences are
 * not to be slowed by those with more: every client has at least as many rows as those, and more only
 * as long as the step takes no longer than the rows of those alone plus client_slowdown_percent, by
 * the times measured so far. Now and then a step has those rows alone, so that their time is known.
 * Steps that compute prompts as well are left as they are: they have a bound of their own, beside which
 * a row is cheap.
 * The sequences of a client take turns in order of arrival. */
#include "core/sched/sched_impl.h"

/* Steps from one measurement of the clients with the fewest sequences to the next. */
#define MEASURE_EVERY 128u
/* Steps between attempts while their time is unknown. A device may take so little time that no step is measured, so
 * the others must not wait for that. */
#define MEASURE_UNKNOWN 4u

static bool generates(const struct lmi_sched_rec *r)
{
	return r->grown && !r->removed;
}

/* The numbers of generating sequences of the accounts. */
struct census {
	uint32_t n_account, least, most;
	uint32_t n_row; /* of the accounts with the fewest */
};

/* Counts the sequences that generate, and numbers those of each account. */
static struct census count(struct lmi_sched *s)
{
	struct census c = {.least = UINT32_MAX};

	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct lmi_sched_account *a = &s->fair.account[s->rec[i].account];

		a->n_gen = a->n_ready = a->n_before = a->n_seen = 0;
	}
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct lmi_sched_rec *r = &s->rec[i];

		if (generates(r))
			r->number = s->fair.account[r->account].n_gen++;
	}
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		const struct lmi_sched_rec *r = &s->rec[i];
		uint32_t n = s->fair.account[r->account].n_gen;

		if (!generates(r) || r->number)
			continue;
		c.n_account++;
		c.n_row = n < c.least ? n : n == c.least ? c.n_row + n : c.n_row;
		c.least = n < c.least ? n : c.least;
		c.most = n > c.most ? n : c.most;
	}
	return c;
}

/* Returns the rows of a step in which no account has more than n. */
static uint32_t rows_with(const struct lmi_sched *s, uint32_t n)
{
	uint32_t sum = 0;

	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		sum += generates(&s->rec[i]) && s->rec[i].number < n;
	return sum;
}

/* Returns how many rows an account may have. */
static uint32_t share_of_account(const struct lmi_sched *s, const struct census *c)
{
	/* an eighth is spared, because times vary and grow with the context */
	double most = 1 + s->client_slowdown_percent * 0.01 * 7 / 8;
	double ns = lmi_sched_cost_of(&s->cost, c->n_row) * most;
	uint32_t rows = lmi_sched_cost_rows(&s->cost, (uint64_t)ns, s->n_batch);
	uint32_t lo = c->least, hi = c->most;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		if (rows_with(s, mid) <= rows)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* Is its next row that of a new token, and can this plan compute it? */
static bool is_ready(const struct lmi_sched_rec *r, uint32_t plan)
{
	return generates(r) && lmi_sched_has_work(r) && r->o.plan == plan;
}

/* Counts the sequences that this step could compute; returns how many of them belong to the accounts
 * with the fewest. */
static uint32_t count_ready(struct lmi_sched *s, uint32_t plan, uint32_t least)
{
	uint32_t n = 0;

	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		const struct lmi_sched_rec *r = &s->rec[i];
		struct lmi_sched_account *a = &s->fair.account[r->account];

		if (!is_ready(r, plan))
			continue;
		a->n_ready++;
		a->n_before += r->arrival <= a->turn;
		n += a->n_gen == least;
	}
	return n;
}

/* Lets all but `most` sequences of each account sit the step out. */
static void limit(struct lmi_sched *s, uint32_t plan, uint32_t most)
{
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct lmi_sched_rec *r = &s->rec[i];
		struct lmi_sched_account *a = &s->fair.account[r->account];
		uint32_t place;

		if (!is_ready(r, plan) || a->n_ready <= most)
			continue;
		/* in the queue that begins after the last one of the step before */
		place = (a->n_seen++ + a->n_ready - a->n_before) % a->n_ready;
		if (place >= most)
			r->tried = s->round;
		else if (place == most - 1)
			a->next_turn = r->arrival;
	}
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct lmi_sched_account *a = &s->fair.account[s->rec[i].account];

		if (a->n_ready > most)
			a->turn = a->next_turn;
	}
}

/* Lets all accounts but those with the fewest sit the step out. */
static void measure_least(struct lmi_sched *s, uint32_t plan, uint32_t least)
{
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (is_ready(&s->rec[i], plan) && s->fair.account[s->rec[i].account].n_gen > least)
			s->rec[i].tried = s->round;
}

/* May the step compute a part of a prompt? */
static bool has_prompts(const struct lmi_sched *s, uint32_t plan)
{
	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next)
		if (!s->rec[i].grown && lmi_sched_has_work(&s->rec[i]) && s->rec[i].o.plan == plan)
			return true;
	return s->waiting.n && lmi_kv_n_free_seq(s->kv);
}

void lmi_sched_spread(struct lmi_sched *s, uint32_t plan)
{
	struct census c;
	uint32_t n_least;
	bool known;

	if (!s->client_slowdown_percent || has_prompts(s, plan))
		return;
	c = count(s);
	if (c.n_account < 2 || c.least == c.most)
		return;
	n_least = count_ready(s, plan, c.least);
	known = lmi_sched_cost_near(&s->cost, c.n_row) > 0;
	if (!known && s->n_spread > MEASURE_UNKNOWN)
		s->n_spread = MEASURE_UNKNOWN;
	if (n_least == c.n_row && !s->n_spread) {
		s->n_spread = MEASURE_EVERY;
		measure_least(s, plan, c.least);
		return;
	}
	s->n_spread -= s->n_spread != 0;
	limit(s, plan, known ? share_of_account(s, &c) : c.least);
}
