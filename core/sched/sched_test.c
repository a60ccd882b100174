/* SPDX-License-Identifier: MIT
 *
 * The scheduler's choices one by one: what comes first, what waits, what is refused. */
#include <string.h>

#include "core/sched/sched_fixture.h"

/* A long prompt beside a decoding sequence, which gets a row in every step. */
START_TEST(decode_comes_first)
{
	struct lmi_sched_seq stream = {.n_known = 3, .n_limit = 100, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_seq prompt = {.n_known = 90, .n_limit = 91, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_step st;
	struct fixture w;
	uint32_t a, b, n = 0;

	fixture_init(&w, 1);
	ck_assert_int_eq(lmi_sched_submit(w.s, &stream, &a, NULL), LMD_OK);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	lmi_sched_commit(w.s, true, NULL);
	ck_assert_int_eq(lmi_sched_submit(w.s, &prompt, &b, NULL), LMD_OK);
	do {
		ck_assert(lmi_sched_grow(w.s, a));
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		ck_assert_uint_eq(st.parts[0].seq, a);
		ck_assert_uint_eq(st.parts[0].n, 1);
		ck_assert_uint_eq(st.n_row, ++n < 3 ? N_BATCH : 90 - 2 * (N_BATCH - 1) + 1);
		lmi_sched_commit(w.s, true, NULL);
	} while (lmi_sched_n_done(w.s, b) < 90);
	ck_assert_uint_eq(n, 3);
	fixture_fini(&w);
}
END_TEST

/* Four sequences whose drafts would fill every step, and one that waits: it starts in the next step, with all
 * rows of a span. _i: whether it begins with one. */
START_TEST(drafts_delay_no_prompt)
{
	static const struct lmi_sched_span picture = {.first = 0, .end = 20};
	struct lmi_sched_seq stream = {.n_known = 3, .n_limit = 60, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_seq prompt = {.n_known = 40,
				       .n_limit = 41,
				       .share = LMI_SCHED_NO_SEQ,
				       .spans = &picture,
				       .n_span = (uint32_t)_i};
	struct lmi_sched_step st;
	struct fixture w;
	uint32_t a[4], b, n = 0;

	fixture_init_groups(&w, 1, 1, 1);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(lmi_sched_submit(w.s, &stream, &a[i], NULL), LMD_OK);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	lmi_sched_commit(w.s, true, NULL);
	ck_assert_int_eq(lmi_sched_submit(w.s, &prompt, &b, NULL), LMD_OK);
	for (uint32_t done = 0; done < 40; n++) {
		uint32_t kept[5];

		for (int i = 0; i < 4; i++) {
			ck_assert(lmi_sched_grow(w.s, a[i]));
			ck_assert(lmi_sched_grow_drafts(w.s, a[i], 7));
		}
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		ck_assert_uint_eq(st.n_part, 5);
		for (uint32_t i = 0; i < 5; i++)
			kept[i] = st.parts[i].seq == b ? st.parts[i].n : 1; /* all drafts are wrong */
		lmi_sched_commit(w.s, true, kept);
		ck_assert_uint_gt(lmi_sched_n_done(w.s, b), done);
		done = lmi_sched_n_done(w.s, b);
		if (!n && _i)
			ck_assert_uint_ge(done, 20);
	}
	ck_assert(lmi_sched_check(w.s));
	fixture_fini(&w);
}
END_TEST

/* Two sequences that together exceed the memory: the older one is never preempted. */
START_TEST(the_oldest_gets_on)
{
	struct lmi_sched_seq o = {.n_known = 60, .n_limit = 150, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_stats stats;
	struct lmi_sched_step st;
	struct fixture w;
	uint32_t seq[3], last = 0;

	fixture_init(&w, 1);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(lmi_sched_submit(w.s, &o, &seq[i], NULL), LMD_OK);
	for (uint32_t known[3] = {60, 60, 60}; known[0] < 150;) {
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		lmi_sched_commit(w.s, true, NULL);
		ck_assert_uint_ge(lmi_sched_n_done(w.s, seq[0]), last);
		last = lmi_sched_n_done(w.s, seq[0]);
		for (int i = 0; i < 3; i++)
			if (lmi_sched_n_done(w.s, seq[i]) == known[i])
				known[i] += lmi_sched_grow(w.s, seq[i]);
		ck_assert(lmi_sched_check(w.s));
	}
	lmi_sched_stats(w.s, &stats);
	ck_assert_uint_gt(stats.n_preempted, 0);
	ck_assert_uint_eq(stats.n_waiting + stats.n_active, 3);
	while (lmi_sched_n_done(w.s, seq[0]) < 150) {
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		lmi_sched_commit(w.s, true, NULL);
	}
	ck_assert(!lmi_sched_grow(w.s, seq[0])); /* finishes alone */
	fixture_fini(&w);
}
END_TEST

/* A client with two sequences of m rows beside one with one of n rows, which is the newest. */
static void take_turns(uint32_t m, uint32_t n)
{
	uint32_t seq[3], known[3] = {m, m, n};
	struct lmi_sched_stats stats;
	struct lmi_sched_step st;
	struct fixture w;

	fixture_init(&w, 1);
	for (int i = 0; i < 3; i++) {
		const struct lmi_sched_seq o = {.n_known = known[i],
						.n_limit = 150,
						.client = i / 2,
						.share = LMI_SCHED_NO_SEQ};

		ck_assert_int_eq(lmi_sched_submit(w.s, &o, &seq[i], NULL), LMD_OK);
	}
	while (known[0] < 150) {
		ck_assert_msg(lmi_sched_next(w.s, NULL, &st), "%u and %u rows: nothing to do", m, n);
		lmi_sched_commit(w.s, true, NULL);
		for (int i = 0; i < 3; i++)
			if (lmi_sched_n_done(w.s, seq[i]) == known[i])
				known[i] += lmi_sched_grow(w.s, seq[i]);
		lmi_sched_stats(w.s, &stats);
		if (!stats.n_preempted) /* one of the two has a row in most steps of the third */
			ck_assert_uint_le(known[2] - n, 2 * (known[0] + known[1] - 2 * m) + 4);
		ck_assert(lmi_sched_check(w.s));
	}
	ck_assert_uint_gt(stats.n_preempted, 0);
	fixture_fini(&w);
}

/* No time is measured and memory is short: all get on, and no step is empty. */
START_TEST(clients_take_turns)
{
	for (uint32_t m = 49; m < 65; m++)
		for (uint32_t n = 49; n < 65; n++)
			take_turns(m, n);
}
END_TEST

/* A held sequence computes nothing while others go on, and everything but its last row if its memory
 * was lost. */
START_TEST(a_held_sequence_waits)
{
	struct lmi_sched_seq o = {.n_known = 20, .n_limit = 100, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_step st;
	struct fixture w;
	uint32_t held, other;

	fixture_init(&w, 1);
	ck_assert_int_eq(lmi_sched_submit(w.s, &o, &other, NULL), LMD_OK);
	ck_assert_int_eq(lmi_sched_submit(w.s, &o, &held, NULL), LMD_OK);
	while (lmi_sched_n_done(w.s, held) < 20) {
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		lmi_sched_commit(w.s, true, NULL);
	}
	ck_assert(lmi_sched_grow(w.s, held));
	lmi_sched_hold(w.s, held, true);
	for (uint32_t i = 0; i < 5; i++) {
		ck_assert(lmi_sched_grow(w.s, other));
		ck_assert(lmi_sched_next(w.s, NULL, &st));
		ck_assert_uint_eq(st.n_part, 1);
		ck_assert_uint_eq(st.parts[0].seq, other);
		/* a failed step costs the held sequence nothing, since it has no part of it */
		lmi_sched_commit(w.s, i != 3, NULL);
		while (lmi_sched_n_done(w.s, other) < 20 + i + 1) {
			ck_assert(lmi_sched_next(w.s, NULL, &st));
			lmi_sched_commit(w.s, true, NULL);
		}
		ck_assert_uint_eq(lmi_sched_n_done(w.s, held), 20);
	}
	ck_assert(!lmi_sched_next(w.s, NULL, &st));
	lmi_sched_hold(w.s, held, false);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.parts[0].seq, held);
	ck_assert_uint_eq(st.n_row, 1);
	lmi_sched_commit(w.s, true, NULL);
	ck_assert(lmi_sched_check(w.s));
	fixture_fini(&w);
}
END_TEST

START_TEST(a_fork_takes_the_rows_over)
{
	struct lmi_sched_seq parent = {.n_known = 30, .n_limit = 40, .share = LMI_SCHED_NO_SEQ};
	struct lmi_sched_seq child = {.n_known = 30, .n_limit = 40, .out = LMI_SCHED_OUT_ALL};
	struct lmi_sched_step st;
	struct fixture w;
	uint32_t a, b;

	fixture_init(&w, 1);
	ck_assert_int_eq(lmi_sched_submit(w.s, &parent, &a, NULL), LMD_OK);
	child.share = a;
	child.share_rows = 21;
	ck_assert_int_eq(lmi_sched_submit(w.s, &child, &b, NULL), LMD_OK);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.n_part, 1);
	ck_assert_uint_eq(st.parts[0].n_mark, 1);
	ck_assert_uint_eq(st.parts[0].mark[0], 21);
	lmi_sched_commit(w.s, true, NULL);
	ck_assert_uint_eq(lmi_sched_n_done(w.s, b), 21);
	ck_assert(lmi_sched_next(w.s, NULL, &st));
	ck_assert_uint_eq(st.n_part, 1);
	ck_assert_uint_eq(st.parts[0].first, 21);
	ck_assert_uint_eq(st.parts[0].n_out, 9);
	lmi_sched_commit(w.s, true, NULL);
	ck_assert(!lmi_sched_next(w.s, NULL, &st));
	lmi_sched_remove(w.s, a);
	lmi_sched_remove(w.s, b);
	fixture_expect_all_free(&w);
	fixture_fini(&w);
}
END_TEST

START_TEST(refusals_have_numbers)
{
	static const struct {
		struct lmi_sched_seq o;
		const char *text;
	} cases[] = {
		{{.n_known = 0, .n_limit = 1}, "0 rows"},
		{{.n_known = 5, .n_limit = 4}, "5 rows cannot be limited to 4"},
		{{.n_known = 5, .n_limit = 6, .whole = true}, "cannot grow to 6"},
		{{.n_known = 33, .n_limit = 33, .whole = true}, "33 rows must run"},
		{{.n_known = 21, .n_limit = 21, .whole = true, .out = LMI_SCHED_OUT_ALL},
		 "21 rows must be output"},
		{{.n_known = 1, .n_limit = 1, .n_encode = 40}, "40 rows to encode"},
		{{.n_known = 1, .n_limit = 161}, "up to 161 rows"},
		{{.n_known = 4, .n_limit = 9, .share = 7, .share_rows = 2}, "cannot share 2 rows"},
	};
	struct lmd_error err;
	struct fixture w;
	uint32_t seq;

	fixture_init(&w, 1);
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_sched_seq o = cases[i].o;

		if (!o.share_rows)
			o.share = LMI_SCHED_NO_SEQ;
		ck_assert_int_eq(lmi_sched_submit(w.s, &o, &seq, &err), LMD_INVALID);
		ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
	}
	for (int i = 0; i < N_MAX; i++) {
		struct lmi_sched_seq o = {.n_known = 1, .n_limit = 1, .share = LMI_SCHED_NO_SEQ};

		ck_assert_int_eq(lmi_sched_submit(w.s, &o, &seq, &err), LMD_OK);
	}
	ck_assert_int_eq(lmi_sched_submit(w.s,
					  &(struct lmi_sched_seq){.n_known = 1,
								  .n_limit = 1,
								  .share = LMI_SCHED_NO_SEQ},
					  &seq, &err),
			 LMD_BUSY);
	fixture_fini(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sched");
	TCase *t = tcase_create("sched");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, decode_comes_first);
	tcase_add_loop_test(t, drafts_delay_no_prompt, 0, 2);
	tcase_add_test(t, the_oldest_gets_on);
	tcase_add_test(t, clients_take_turns);
	tcase_add_test(t, a_held_sequence_waits);
	tcase_add_test(t, a_fork_takes_the_rows_over);
	tcase_add_test(t, refusals_have_numbers);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
