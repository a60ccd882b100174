/* SPDX-License-Identifier: MIT
 *
 * Steps that keep to what running generations can wait: the size of chunks changes no token, and late
 * steps are counted. */
#include <string.h>

#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"

#define N_PROMPT 150

static struct story_env env;
static lmd_token prompt[N_PROMPT];

static void setup(void)
{
	story_env_init(&env, "step bound");
	for (uint32_t i = 0; i < N_PROMPT; i++)
		prompt[i] = (lmd_token)(1 + i * 7 % 90);
}

static void teardown(void)
{
	story_env_fini(&env);
}

/* A stream, and a prompt that arrives while it runs. */
static void two_stories(uint64_t target_ns, struct story *out, struct lmi_engine_stats *stats)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine_generate a = story_command(1, hello, 5, 60),
				   b = story_command(2, prompt, N_PROMPT, 20);
	struct lmi_engine *e;
	struct lmd_error err;

	o.target_ns[LMI_ENGINE_CLASS_NORMAL] = target_ns;
	a.class = b.class = LMI_ENGINE_CLASS_NORMAL;
	e = story_engine(&o);
	memset(out, 0, 2 * sizeof(*out));
	ck_assert_msg(lmi_engine_generate(e, &a, &err) == LMD_OK, "%s", err.text);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
	ck_assert_msg(lmi_engine_generate(e, &b, &err) == LMD_OK, "%s", err.text);
	story_run(e, out, 2);
	lmi_engine_stats(e, stats);
	lmi_engine_fini(e);
}

START_TEST(a_bound_changes_no_token)
{
	static struct story want[2], got[2];
	struct lmi_engine_stats free_steps, bounded;

	two_stories(0, want, &free_steps);
	two_stories(1, got, &bounded);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(got[i].end, LMI_ENGINE_EV_DONE);
		ck_assert_uint_eq(got[i].n_tokens, want[i].n_tokens);
		ck_assert_mem_eq(got[i].tokens, want[i].tokens,
				 want[i].n_tokens * sizeof(want[i].tokens[0]));
	}
	ck_assert_uint_eq(free_steps.n_bounded, 0);
	ck_assert_uint_eq(free_steps.n_over_bound, 0);
	/* nothing runs within 1 ns: the prompt is computed in the smallest parts, and each is late */
	ck_assert_uint_ge(bounded.n_bounded, 4);
	ck_assert_uint_eq(bounded.n_over_bound, bounded.n_bounded);
}
END_TEST

/* A bound that every step keeps splits nothing. */
START_TEST(a_generous_bound_costs_nothing)
{
	static struct story want[2], got[2];
	struct lmi_engine_stats free_steps, bounded;

	two_stories(0, want, &free_steps);
	two_stories(UINT64_MAX / 4, got, &bounded);
	ck_assert_uint_eq(bounded.n_step, free_steps.n_step);
	ck_assert_uint_ge(bounded.n_bounded, 1);
	ck_assert_uint_eq(bounded.n_over_bound, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("step_bound");
	TCase *t = tcase_create("step_bound");

	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, a_bound_changes_no_token);
	tcase_add_test(t, a_generous_bound_costs_nothing);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
