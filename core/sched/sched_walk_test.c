/* SPDX-License-Identifier: MIT
 *
 * The scheduler under random traffic with too little memory, with up to three pending steps. After
 * each step the test checks that every sequence computes its rows in order, that each row is output
 * once, and that every sequence that was not cancelled finishes. */
#include <stdio.h>
#include <string.h>

#include "core/sched/sched_fixture.h"

/* The device chooses the next token of a part: its row is known before the step is committed. */
static void chain(struct fixture *w, const struct lmi_sched_part *p)
{
	struct client *c = &w->c[p->seq];

	if (p->encode || !p->n_out || c->o.out != LMI_SCHED_OUT_LAST || c->held ||
	    c->draft_from != NO_DRAFT || p->first + p->n != c->n_known || fixture_below(w, 2) ||
	    !lmi_sched_grow(w->s, p->seq))
		return;
	c->n_known++;
	w->n_chained++;
}

static bool plan_step(struct fixture *w)
{
	struct flight *f = &w->flight[w->n_flight];
	struct lmi_sched_limit limit = {fixture_below(w, 3) ? 0 : 1 + fixture_below(w, 3),
					fixture_below(w, 3) ? 0 : 1 + fixture_below(w, N_BATCH)};
	struct lmi_sched_step step;
	uint32_t n_row = 0, n_out = 0;

	MUST(lmi_sched_n_pending(w->s) == w->n_flight);
	if (!lmi_sched_next(w->s, &limit, &step))
		return false;
	MUST(w->n_flight < (w->depth ? w->depth : 1));
	MUST(step.n_part && step.n_part <= N_SEQ);
	fixture_copy_rows(w);
	fixture_drop_drafts(w);
	fixture_check_step(w, &step, &limit);
	*f = (struct flight){.n_part = step.n_part, .given = step.parts};
	for (uint32_t k = 0; k < step.n_part; k++) {
		f->part[k] = step.parts[k];
		if (w->c[f->part[k].seq].token)
			fixture_check_rows(w, &f->part[k], f->row[k]);
		n_row += f->part[k].n;
		n_out += f->part[k].n_out;
	}
	MUST(n_row == step.n_row && n_row <= N_BATCH && n_out == step.n_out && n_out <= N_OUT);
	for (uint32_t k = 0; k < step.n_part; k++) {
		struct client *c = &w->c[f->part[k].seq];

		c->out_planned = fixture_max2(c->n_pending ? c->out_planned : c->out_done, c->planned);
		c->n_pending++;
		if (w->depth > 1)
			chain(w, &f->part[k]);
	}
	w->n_flight++;
	return true;
}

/* Chooses how many rows of a part count: drafts may be rejected. */
static uint32_t choose_kept(struct fixture *w, const struct lmi_sched_part *p)
{
	const struct client *c = &w->c[p->seq];
	uint32_t end = p->first + p->n, least;

	if (p->encode || end <= c->draft_from || c->n_void)
		return p->n;
	least = fixture_max2(c->draft_from, p->first + 1) - p->first;
	return least + fixture_below(w, p->n - least + 1);
}

/* Adds rows to a sequence whose known rows are all computed. */
static void grow(struct fixture *w, uint32_t seq)
{
	struct client *c = &w->c[seq];
	uint32_t n = fixture_below(w, 4) ? 0 : 1 + fixture_below(w, 4);

	if (fixture_below(w, 30) && lmi_sched_grow(w->s, seq)) {
		c->n_known++;
		if (!n && !fixture_below(w, 4)) {
			lmi_sched_hold(w->s, seq, true);
			c->held = true;
			w->n_held++;
		}
		if (n && lmi_sched_grow_drafts(w->s, seq, n)) {
			c->draft_from = c->n_known;
			c->n_known += n;
		}
		return;
	}
	MUST(c->o.out == LMI_SCHED_OUT_LAST || c->out_done == c->n_known);
	lmi_sched_remove(w->s, seq);
	fixture_free_tokens(c);
	c->used = false;
	w->n_finished++;
}

/* Forgets the last rows of a sequence, which may then be computed again. */
static void truncate_some(struct fixture *w, uint32_t seq)
{
	struct client *c = &w->c[seq];
	uint32_t n = 1 + fixture_below(w, c->n_known);

	lmi_sched_truncate(w->s, seq, n);
	w->n_truncated++;
	c->n_known = n;
	c->draft_from = NO_DRAFT;
	c->out_done = c->out_done < n ? c->out_done : n;
	MUST(lmi_sched_n_done(w->s, seq) == n || !lmi_sched_n_done(w->s, seq));
}

/* Gives a sequence other rows from some row on. */
static void rewrite_some(struct fixture *w, uint32_t seq)
{
	struct client *c = &w->c[seq];
	uint32_t n_same = fixture_below(w, c->n_known + 1);
	uint32_t n = n_same + fixture_below(w, c->o.n_limit - n_same + 1);

	n += !n;
	for (uint32_t i = n_same; c->token && i < N_CTX; i++)
		c->token[i] = (lmd_token)fixture_below(w, 2);
	lmi_sched_rewrite(w->s, seq, n_same, n);
	w->n_rewritten++;
	c->n_known = n;
	c->draft_from = NO_DRAFT;
	c->out_done = c->out_done < n_same ? c->out_done : n_same;
	MUST(lmi_sched_n_done(w->s, seq) <= n_same);
}

/* The known rows of a sequence, if they are all computed now, are followed by others or the end. */
static void go_on(struct fixture *w, uint32_t seq)
{
	struct client *c = &w->c[seq];

	if (c->n_pending || c->cancelled || lmi_sched_n_done(w->s, seq) < c->n_known)
		return;
	c->draft_from = NO_DRAFT;
	if (!c->o.whole && !fixture_below(w, 40))
		truncate_some(w, seq);
	else if (!c->o.whole && !fixture_below(w, 40))
		rewrite_some(w, seq);
	if (lmi_sched_n_done(w->s, seq) == c->n_known)
		grow(w, seq);
}

static void end_part(struct fixture *w, const struct lmi_sched_part *p, bool ran, uint32_t kept)
{
	struct client *c = &w->c[p->seq];
	bool counts = ran && !c->n_void && !c->cancelled;

	MUST(p->n_kept == (counts ? kept : 0));
	c->n_pending--;
	w->n_void += c->n_void != 0;
	if (c->n_void)
		c->n_void--;
	else if (!ran)
		c->n_void = c->n_pending;
	if (counts && !p->encode) {
		MUST(lmi_sched_n_done(w->s, p->seq) == p->first + kept);
		c->out_done = fixture_max2(c->out_done, p->first + kept);
		w->n_rejected += p->n - kept;
		if (c->draft_from < p->first + kept)
			w->n_accepted += p->first + kept - c->draft_from;
	}
	if (counts && kept < p->n) {
		c->n_known = p->first + kept;
		c->out_done = c->out_done < c->n_known ? c->out_done : c->n_known;
		c->draft_from = NO_DRAFT;
		c->n_void = c->n_pending;
	}
	if (c->cancelled && !c->n_pending)
		c->used = false;
	else
		go_on(w, p->seq);
}

static void end_step(struct fixture *w)
{
	struct flight f = w->flight[0];
	uint32_t kept[N_SEQ];
	bool ran = fixture_below(w, 50) != 0, all = true;

	for (uint32_t k = 0; k < f.n_part; k++) {
		kept[k] = choose_kept(w, &f.part[k]);
		all = all && kept[k] == f.part[k].n;
	}
	if (!ran)
		fixture_lose_rows(w, &f);
	lmi_sched_commit(w->s, ran, all ? NULL : kept);
	w->n_failed += !ran;
	lmi_sched_measure(w->s, 1 + fixture_below(w, N_BATCH), 0, fixture_below(w, 40));
	w->n_flight--;
	memmove(w->flight, w->flight + 1, w->n_flight * sizeof(f));
	memcpy(f.part, f.given, f.n_part * sizeof(*f.part));
	for (uint32_t k = 0; k < f.n_part; k++)
		end_part(w, &f.part[k], ran, kept[k]);
}

static void cancel(struct fixture *w, uint32_t i)
{
	lmi_sched_remove(w->s, i);
	fixture_free_tokens(&w->c[i]);
	w->c[i].cancelled = w->c[i].n_pending;
	w->c[i].used = w->c[i].n_pending;
	w->n_cancelled++;
}

/* Lets go of held sequences; returns false if there is none. */
static bool release_held(struct fixture *w, bool all)
{
	bool any = false;

	for (uint32_t i = 0; i < N_MAX; i++) {
		struct client *c = &w->c[i];

		if (!c->used || c->cancelled || !c->held)
			continue;
		any = true;
		if (!all && fixture_below(w, 3))
			continue;
		lmi_sched_hold(w->s, i, false);
		c->held = false;
	}
	return any;
}

/* Plans steps or ends one; returns false if there is nothing to do. */
static bool step(struct fixture *w)
{
	bool planned = plan_step(w);

	while (planned && w->n_flight < w->depth && fixture_below(w, 3))
		planned = plan_step(w);
	if (!w->n_flight)
		return false;
	if (!fixture_below(w, 20)) { /* cancelled while the step runs */
		uint32_t i = w->flight[0].part[fixture_below(w, w->flight[0].n_part)].seq;

		if (!w->c[i].cancelled)
			cancel(w, i);
	}
	end_step(w);
	return true;
}

/* With _i % 4 pending steps at most; 0 counts as 1. From 4 on with prefix caching, from 8 on also with
 * states. */
START_TEST(random_traffic)
{
	uint32_t n_group = _i < 4 ? (uint32_t)FIXTURE_N_GROUP : _i < 8 ? 2 : 3;
	int depth = _i % 4;
	struct lmi_sched_stats st;
	struct fixture w;
	uint64_t allocs;
	uint32_t idle = 0;

	fixture_init_groups(&w, lmd_seed("sched random traffic", 5), (uint32_t)depth, n_group);
	allocs = lmi_alloc_thread_count();
	for (uint32_t op = 0; op < 60000; op++) {
		if (!fixture_below(&w, 4))
			fixture_submit(&w);
		if (!fixture_below(&w, 60)) {
			uint32_t i = fixture_any_client(&w);

			if (i != LMI_SCHED_NO_SEQ)
				cancel(&w, i);
		}
		(void)release_held(&w, false);
		if (!step(&w) && !release_held(&w, true)) {
			idle++;
			MUST(fixture_any_client(&w) == LMI_SCHED_NO_SEQ);
		}
		if (!lmi_sched_check(w.s))
			ck_abort_msg("invariants after operation %u", op);
	}
	for (uint32_t k = 0; fixture_any_client(&w) != LMI_SCHED_NO_SEQ; k++) {
		MUST(step(&w) || release_held(&w, true));
		MUST(k < 100000); /* every sequence finishes */
	}
	while (w.n_flight)
		end_step(&w);
	ck_assert_uint_eq(lmi_alloc_thread_count(), allocs);
	lmi_sched_stats(w.s, &st);
	printf("%llu submitted, %llu finished, %llu cancelled, %llu steps, %llu failed, "
	       "%llu preempted, %llu shared rows, %llu mixed, %llu marks, %llu encoded, %u idle, "
	       "%llu ahead, %llu chained, %llu void, %llu held, %llu rejected, %llu accepted, %llu truncated, "
	       "%llu rewritten\n",
	       (unsigned long long)w.n_born, (unsigned long long)w.n_finished,
	       (unsigned long long)w.n_cancelled, (unsigned long long)st.n_step,
	       (unsigned long long)w.n_failed, (unsigned long long)st.n_preempted,
	       (unsigned long long)st.n_shared_rows, (unsigned long long)w.n_mixed,
	       (unsigned long long)w.n_marked, (unsigned long long)w.n_encoded, idle,
	       (unsigned long long)w.n_ahead, (unsigned long long)w.n_chained,
	       (unsigned long long)w.n_void, (unsigned long long)w.n_held,
	       (unsigned long long)w.n_rejected, (unsigned long long)w.n_accepted,
	       (unsigned long long)w.n_truncated, (unsigned long long)w.n_rewritten);
	ck_assert_uint_eq(w.n_finished + w.n_cancelled, w.n_born);
	ck_assert(w.n_finished > 1000 && w.n_cancelled > 500 && st.n_preempted > 100 &&
		  st.n_shared_rows > 1000 && w.n_mixed > 1000 && (n_group == 2 || w.n_marked > 20) &&
		  (w.cached || w.n_encoded > 100) && w.n_rejected > 100 && w.n_accepted > 100 && w.n_dropped > 100 &&
		  w.n_truncated > 100 && w.n_rewritten > 100 && w.n_held > 100);
	ck_assert(depth > 1 ? w.n_ahead > 1000 && w.n_chained > 1000 && w.n_void > 20 : !w.n_ahead && !w.n_void);
	if (w.cached) {
		printf("%llu of %llu found rows\n", (unsigned long long)st.n_hit,
		       (unsigned long long)st.n_started);
		ck_assert(st.n_hit > st.n_started / 20);
	}
	fixture_expect_all_free(&w);
	fixture_fini(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sched_walk");
	TCase *t = tcase_create("sched_walk");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, random_traffic, 0, 3 * (DEPTH + 1));
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
