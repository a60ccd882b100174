/* SPDX-License-Identifier: MIT
 *
 * Retained sequences: successors that reuse their rows, sequences of cancelled generations, and
 * when a retained sequence is dropped. */
#include <string.h>

#include "core/base/alloc.h"
#include "tests/lmd_check.h"
#include "tests/generation_fixture.h"

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "kept");
}

static void teardown(void)
{
	story_env_fini(&env);
}

/* A conversation in which each turn continues the previous sequence. Rows are computed once, and
 * the text is the same as without retaining. */
START_TEST(a_kept_sequence_is_not_read_again)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *retained, *plain;
	struct lmi_engine_stats a, b;
	lmd_token v[250];
	uint32_t n = 5;

	o.inst.kv_tokens = 256; /* room for one sequence, and the page in which both end */
	retained = story_engine(&o);
	plain = story_engine(&o);
	memcpy(v, hello, sizeof(hello));
	for (int turn = 0; turn < 8; turn++) {
		struct lmi_engine_generate cmd = story_command(1, v, n, 20);
		struct story one = story_generate(plain, &cmd), two;

		cmd.flags |= LMI_ENGINE_GEN_RETAIN;
		two = story_generate(retained, &cmd);
		ck_assert_str_eq(one.text, two.text);
		ck_assert_uint_eq(two.last.u.done.n_prompt, n);
		memcpy(v + n, two.tokens, two.n_tokens * sizeof(v[0]));
		n += two.n_tokens;
		for (int k = 0; k < 7; k++)
			v[n++] = (lmd_token)(turn * 7 + k);
	}
	lmi_engine_stats(plain, &a);
	lmi_engine_stats(retained, &b);
	ck_assert_uint_eq(a.n_shared_rows, 0);
	ck_assert_uint_lt(b.n_row, n);
	ck_assert_uint_eq(b.n_row + b.n_shared_rows, a.n_row);
	ck_assert_uint_eq(b.step_allocs, 0);
	ck_assert_uint_lt(b.n_free[0], b.n_page[0]); /* it is still there */
	/* a different prefix: it is dropped */
	{
		static const lmd_token other[] = {1, 2, 3};
		struct lmi_engine_generate cmd = story_command(1, other, 3, 2);

		(void)story_generate(retained, &cmd);
		lmi_engine_stats(retained, &b);
		ck_assert_uint_eq(b.n_free[0], b.n_page[0]);
	}
	lmi_engine_fini(retained);
	lmi_engine_fini(plain);
}
END_TEST

/* A cancelled sequence is retained as far as it was computed, and is not computed further. */
START_TEST(a_kept_sequence_that_was_cancelled)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = story_engine(&o), *plain = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 100);
	struct lmi_engine_stats st;
	struct lmi_engine_event ev;
	struct story s = {0};
	lmd_token v[64];
	uint64_t n_row;

	for (int at = 0; at < 6; at++) {
		s = (struct story){0};
		cmd = story_command(1, hello, 5, 100);
		cmd.flags |= LMI_ENGINE_GEN_RETAIN;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		for (int i = 0; i < at; i++)
			(void)lmi_engine_step(e);
		ck_assert_int_eq(lmi_engine_cancel(e, 1), LMD_OK);
		(void)lmi_engine_step(e);
		lmi_engine_stats(e, &st);
		n_row = st.n_row;
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_IDLE);
		lmi_engine_stats(e, &st);
		ck_assert_uint_eq(st.n_row, n_row);
		while (lmi_engine_poll(e, &ev))
			story_tell(&s, &ev);
		ck_assert_int_eq(s.end, LMI_ENGINE_EV_CANCELLED);
		memcpy(v, hello, sizeof(hello));
		memcpy(v + 5, s.tokens, s.n_tokens * sizeof(v[0]));
		v[5 + s.n_tokens] = 3;
		cmd = story_command(1, v, 6 + s.n_tokens, 10);
		ck_assert_str_eq(story_generate(e, &cmd).text, story_generate(plain, &cmd).text);
	}
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Another sequence needs its memory, or its only slot. */
START_TEST(a_kept_sequence_gives_way)
{
	struct lmi_engine_opts o = story_opts(&env, _i ? 1 : 2);
	struct lmi_engine *e, *plain;
	lmd_token v[200] = {1, 2, 3};
	struct lmi_engine_generate cmd = story_command(1, v, 200, 30);
	struct story s;

	for (int i = 0; i < 200; i++)
		v[i] = i % 95;
	o.inst.kv_tokens = 256;
	e = story_engine(&o);
	plain = story_engine(&o);
	cmd.flags |= LMI_ENGINE_GEN_RETAIN;
	(void)story_generate(e, &cmd);
	v[10] = 50; /* ten common rows; all others need their own pages */
	s = story_generate(e, &cmd);
	ck_assert_int_eq(s.end, LMI_ENGINE_EV_DONE);
	cmd.flags &= ~LMI_ENGINE_GEN_RETAIN;
	ck_assert_str_eq(s.text, story_generate(plain, &cmd).text);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* An engine is closed right after its last answer, while it retains a sequence. */
START_TEST(a_kept_sequence_goes_with_its_engine)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_alloc_stats before, after;

	o.in_line = false;
	lmi_engine_fini(story_engine(&o)); /* plugins are loaded now */
	lmi_alloc_stats(&before);
	for (int i = 0; i < 200; i++) {
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 2);
		struct lmi_engine *e = story_engine(&o);
		struct lmi_engine_event ev = {0};

		cmd.flags |= LMI_ENGINE_GEN_RETAIN;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		while (!lmi_engine_wait(e, &ev, -1) || ev.kind < LMI_ENGINE_EV_DONE)
			;
		lmi_engine_fini(e);
		lmi_alloc_stats(&after);
		ck_assert_uint_eq(before.n_live, after.n_live);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kept sequences");
	TCase *t = tcase_create("kept sequences");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, a_kept_sequence_is_not_read_again);
	tcase_add_test(t, a_kept_sequence_that_was_cancelled);
	tcase_add_loop_test(t, a_kept_sequence_gives_way, 0, 2);
	tcase_add_test(t, a_kept_sequence_goes_with_its_engine);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
