/* SPDX-License-Identifier: MIT
 *
 * Which waiting sequences start: those of one plan share steps, and none is starved. */
#include <string.h>

#include "core/sched/sched_fixture.h"

static uint32_t submit_short(struct fixture *w, uint32_t plan, uint32_t n_known)
{
	struct lmi_sched_seq o = {
		.n_known = n_known, .n_limit = n_known, .plan = plan, .share = LMI_SCHED_NO_SEQ};
	uint32_t seq;

	ck_assert_int_eq(lmi_sched_submit(w->s, &o, &seq, NULL), LMD_OK);
	return seq;
}

/* Runs a step and removes all sequences that were part of it; returns their number. */
static uint32_t step_and_end(struct fixture *w, uint32_t *plan)
{
	struct lmi_sched_part parts[N_SEQ];
	struct lmi_sched_step st;

	ck_assert(lmi_sched_next(w->s, NULL, &st));
	memcpy(parts, st.parts, st.n_part * sizeof(*parts));
	*plan = st.plan;
	lmi_sched_commit(w->s, true, NULL);
	for (uint32_t k = 0; k < st.n_part; k++)
		lmi_sched_remove(w->s, parts[k].seq);
	ck_assert(lmi_sched_check(w->s));
	return st.n_part;
}

/* 40 short prompts with alternating plans: those of one plan share steps. */
START_TEST(plans_join_over_the_queue)
{
	uint32_t n_step = 0, n_done = 0, plan, n_of[2] = {0, 0};
	struct fixture w;

	fixture_init(&w, 1);
	for (uint32_t i = 0; i < 40; i++)
		(void)submit_short(&w, i % 2, 2);
	while (n_done < 40) {
		uint32_t n = step_and_end(&w, &plan);

		n_done += n;
		n_of[plan] += n;
		ck_assert_uint_ne(plan, n_step % 2 ? 0 : 1); /* the plans alternate */
		n_step++;
	}
	ck_assert_uint_eq(n_of[0], 20);
	ck_assert_uint_eq(n_of[1], 20);
	/* 5 or 6 sequences in each step; one of the 6 slots is left to the head of the queue */
	ck_assert_uint_le(n_step, 8);
	fixture_expect_all_free(&w);
	fixture_fini(&w);
}
END_TEST

/* One sequence of one plan among many of another: it starts when its plan is next, although
 * sequences of the other plan keep arriving and stay. */
START_TEST(overtaking_starves_nobody)
{
	struct lmi_sched_seq stays = {.n_known = 2, .n_limit = 3, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_step st;
	struct fixture w;
	uint32_t one, many[20];

	fixture_init(&w, 1);
	(void)submit_short(&w, 0, 2);
	one = submit_short(&w, 1, 2);
	for (uint32_t i = 0; i < 20; i++)
		ck_assert_int_eq(lmi_sched_submit(w.s, &stays, &many[i], NULL), LMD_OK);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.plan, 0);
	ck_assert_uint_eq(st.n_part, N_SEQ - 1); /* one slot is left free */
	lmi_sched_commit(w.s, true, NULL);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.plan, 1);
	ck_assert_uint_eq(st.n_part, 1);
	ck_assert_uint_eq(st.parts[0].seq, one);
	lmi_sched_commit(w.s, true, NULL);
	fixture_fini(&w);
}
END_TEST

/* The head of the queue waits for memory: no other sequence takes the memory that becomes free. */
START_TEST(a_head_without_memory_is_not_overtaken)
{
	struct lmi_sched_seq big = {.n_known = 100, .n_limit = 150, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_stats stats;
	struct lmi_sched_step st;
	struct fixture w;
	uint32_t first, head, small;

	fixture_init(&w, 1);
	ck_assert_int_eq(lmi_sched_submit(w.s, &big, &first, NULL), LMD_OK);
	while (lmi_sched_n_done(w.s, first) < 100) {
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		lmi_sched_commit(w.s, true, NULL);
	}
	head = submit_short(&w, 1, 150);
	small = submit_short(&w, 0, 2);
	for (int i = 0; i < 5; i++) {
		ck_assert(lmi_sched_grow(w.s, first));
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		ck_assert_uint_eq(st.n_part, 1);
		ck_assert_uint_eq(st.parts[0].seq, first);
		lmi_sched_commit(w.s, true, NULL);
	}
	lmi_sched_stats(w.s, &stats);
	ck_assert_uint_eq(stats.n_waiting, 2);
	lmi_sched_remove(w.s, first);
	for (int i = 0; i < 8; i++) {
		if (!lmi_sched_next(w.s, NULL, &st))
			break;
		lmi_sched_commit(w.s, true, NULL);
	}
	ck_assert_uint_eq(lmi_sched_n_done(w.s, head), 150);
	ck_assert_uint_eq(lmi_sched_n_done(w.s, small), 2);
	fixture_fini(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sched_admission");
	TCase *t = tcase_create("sched_admission");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, plans_join_over_the_queue);
	tcase_add_test(t, overtaking_starves_nobody);
	tcase_add_test(t, a_head_without_memory_is_not_overtaken);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
