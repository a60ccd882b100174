/* SPDX-License-Identifier: MIT
 *
 * Rows that are moved to other positions (cache_reuse). In a model with one layer, keys and values depend on
 * nothing but the token and its position, so that moved rows must give the answers of computed ones. In deeper
 * models they are an approximation, which nobody may find who has not asked for it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine_impl.h"
#include "llamad/model.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define PAGE   32u
#define N_TAIL 150u

static struct story_env env;
static const char *flat, *paths[LMT_N_TINY];

static void setup(void)
{
	static const struct lmt_tiny_key one_layer[] = {{"block_count", LMD_META_I64, 1},
							{NULL, 0, 0}};

	story_env_init(&env, "passage");
	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=3", 1), 0);
	for (int k = LMT_WINDOW; k <= LMT_HYBRID; k++)
		paths[k] = story_model(&env, (enum lmt_tiny)k);
	lmt_tiny_keys = one_layer;
	flat = story_model(&env, LMT_FULL);
	lmt_tiny_keys = NULL;
}

static void teardown(void)
{
	unsetenv("LLAMAD_EMU");
	story_env_fini(&env);
}

static struct lmi_engine *engine(const char *path, const char *backend, uint32_t kv_dtype, bool caches)
{
	struct lmi_engine_opts o = story_opts(&env, 2);

	o.inst.path = path;
	o.inst.backend = backend;
	o.inst.k_dtype = o.inst.v_dtype = (int32_t)kv_dtype;
	o.inst.no_prefix_cache = !caches;
	return story_engine(&o);
}

static uint32_t put(lmd_token *v, uint32_t at, uint32_t n, uint64_t *rnd)
{
	story_random_tokens(v + at, n, rnd);
	return at + n;
}

static void expect_same(const struct story *got, const struct story *want, double most)
{
	ck_assert_uint_eq(got->n_logprobs, want->n_logprobs);
	ck_assert_uint_gt(want->n_logprobs, 0);
	for (uint32_t i = 0; i < want->n_logprobs; i++) {
		double a = (double)got->logprobs[i].v[0].logprob;
		double b = (double)want->logprobs[i].v[0].logprob;

		if (got->tokens[i] != want->tokens[i] || fabs(a - b) > most)
			ck_abort_msg("token %u: %d with %g, expected %d with %g", i, got->tokens[i], a,
				     want->tokens[i], b);
	}
}

static const struct {
	const char *backend;
	uint32_t dtype;
	double most; /* difference of log probabilities */
} kinds[] = {{"ref", LMD_DTYPE_F32, 1e-4},
	     {"cpu", LMD_DTYPE_F32, 1e-3},
	     {"emu", LMD_DTYPE_F32, 1e-4},
	     {"ref", LMD_DTYPE_F16, 2e-2},
	     {"ref", LMD_DTYPE_BF16, 0.1}};

/* A part of the middle is replaced by a longer or a shorter one, or by one of the same length. The rows of the
 * tail are moved in one turn, or page by page. _i: kind */
START_TEST(moved_is_computed_in_one_layer)
{
	static const uint32_t lengths[][2] = {{10, 13}, {20, 5}, {9, 9}, {1, 40}, {40, 1}};
	struct lmi_engine *e = engine(flat, kinds[_i].backend, kinds[_i].dtype, true);
	struct lmi_engine *plain = engine(flat, kinds[_i].backend, kinds[_i].dtype, false);
	uint64_t rnd = env.seed;
	uint32_t n_moved = 0;

	if (_i % 2)
		e->passage_turn_bytes = 1;
	for (uint32_t k = 0; k < LMD_LEN(lengths); k++) {
		lmd_token v[256], w[256], tail[N_TAIL];
		uint32_t n, head = 33 + k;
		struct lmi_engine_generate cmd;
		struct story got, want;

		(void)put(tail, 0, N_TAIL, &rnd);
		n = put(v, put(v, 0, head, &rnd), lengths[k][0], &rnd);
		memcpy(v + n, tail, sizeof(tail));
		cmd = story_command(1, v, n + N_TAIL, 2);
		(void)story_generate(e, &cmd);
		memcpy(w, v, head * sizeof(w[0]));
		n = put(w, head, lengths[k][1], &rnd);
		memcpy(w + n, tail, sizeof(tail));
		cmd = story_command(1, w, n + N_TAIL, 8);
		cmd.n_logprobs = 1;
		want = story_generate(plain, &cmd);
		cmd.cache_reuse = PAGE;
		got = story_generate(e, &cmd);
		ck_assert_int_eq(got.end, LMI_ENGINE_EV_DONE);
		expect_same(&got, &want, kinds[_i].most);
		/* all but a page at each end of the tail, and the prefix */
		ck_assert_uint_ge(got.last.u.done.n_cached, PAGE + N_TAIL - 3 * PAGE);
		n_moved += got.last.u.done.n_cached;
	}
	printf("%s: %u rows were not computed\n", kinds[_i].backend, n_moved);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Texts that repeat one token: more pages of the tree are equal than are tried. What is not found is computed. */
START_TEST(a_text_that_repeats_itself)
{
	struct lmi_engine *e = engine(flat, "ref", LMD_DTYPE_F32, true);
	struct lmi_engine *plain = engine(flat, "ref", LMD_DTYPE_F32, false);
	struct lmi_engine_generate cmd;
	struct story got, want;
	uint64_t rnd = env.seed;
	lmd_token v[256];

	for (uint32_t k = 0; k < 6; k++) {
		uint32_t n = put(v, 0, 40 + k, &rnd);

		for (uint32_t i = 0; i < N_TAIL; i++)
			v[n + i] = 17;
		cmd = story_command(1, v, n + N_TAIL, 4);
		cmd.n_logprobs = 1;
		want = story_generate(plain, &cmd);
		cmd.cache_reuse = 2 * N_TAIL; /* longer than any */
		got = story_generate(e, &cmd);
		expect_same(&got, &want, 1e-4);
		ck_assert_uint_eq(got.last.u.done.n_cached, 0);
	}
	(void)put(v, 0, 40, &rnd);
	cmd.cache_reuse = 0;
	want = story_generate(plain, &cmd);
	cmd.cache_reuse = PAGE;
	got = story_generate(e, &cmd);
	expect_same(&got, &want, 1e-4);
	ck_assert_uint_ge(got.last.u.done.n_cached, N_TAIL - 2 * PAGE);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Rows that were moved, and those after them, are found by nobody; what was found without that stays
 * bitwise. A passage that is too short is computed. */
START_TEST(nobody_finds_moved_rows)
{
	struct lmi_engine *e = engine(env.path, "ref", LMD_DTYPE_F32, true);
	struct lmi_engine *plain = engine(env.path, "ref", LMD_DTYPE_F32, false);
	struct lmi_engine_generate cmd;
	struct story got, want;
	uint64_t rnd = env.seed;
	lmd_token v[256], w[256];
	uint32_t n = put(v, 0, 40 + 10 + N_TAIL, &rnd);

	cmd = story_command(1, v, n, 2);
	(void)story_generate(e, &cmd);
	memcpy(w, v, 40 * sizeof(w[0]));
	(void)put(w, 40, 17, &rnd);
	memcpy(w + 57, v + 50, N_TAIL * sizeof(w[0]));
	cmd = story_command(1, w, 57 + N_TAIL, 8);
	want = story_generate(plain, &cmd);
	cmd.cache_reuse = N_TAIL; /* whole pages of it are fewer */
	got = story_generate(e, &cmd);
	ck_assert_str_eq(got.text, want.text);
	ck_assert_uint_lt(got.last.u.done.n_cached, 2 * PAGE);
	/* of another tenant nothing is moved */
	cmd.tenant = 9;
	cmd.cache_reuse = 1;
	got = story_generate(e, &cmd);
	ck_assert_str_eq(got.text, want.text);
	ck_assert_uint_eq(got.last.u.done.n_cached, 0);
	/* a new text that ends in the same passage */
	cmd.tenant = 0;
	(void)put(w, 40, 17, &rnd);
	cmd.cache_reuse = 0;
	want = story_generate(plain, &cmd);
	cmd.cache_reuse = PAGE;
	got = story_generate(e, &cmd);
	ck_assert_uint_gt(got.last.u.done.n_cached, 3 * PAGE);
	cmd.cache_reuse = 0;
	got = story_generate(e, &cmd);
	ck_assert_str_eq(got.text, want.text);
	ck_assert_uint_le(got.last.u.done.n_cached, 2 * PAGE);
	ck_assert_uint_eq(story_check_idle(e).step_allocs, 0);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Several sequences at a time, in memory that does not suffice for all, with others that move nothing. */
START_TEST(beside_others)
{
	struct lmi_engine_opts o = story_opts(&env, 4);
	struct lmi_engine *e, *plain = engine(flat, "ref", LMD_DTYPE_F32, false);
	struct lmi_engine_generate cmd[4];
	struct story s[4] = {0}, want;
	static lmd_token v[4][256], tail[N_TAIL];
	uint64_t rnd = env.seed;
	struct lmi_engine_stats st;

	o.inst.path = flat;
	o.inst.k_dtype = o.inst.v_dtype = LMD_DTYPE_F32;
	o.inst.kv_tokens = 600;
	e = story_engine(&o);
	(void)put(tail, 0, N_TAIL, &rnd);
	for (int round = 0; round < 6; round++) {
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t n = put(v[i], 0, 35 + 3 * i + (uint32_t)round, &rnd);

			memcpy(v[i] + n, tail, sizeof(tail));
			cmd[i] = story_command(i + 1, v[i], n + N_TAIL, 6);
			cmd[i].n_logprobs = 1;
			cmd[i].cache_reuse = i % 2 ? 0 : PAGE;
			ck_assert_int_eq(lmi_engine_generate(e, &cmd[i], NULL), LMD_OK);
			memset(&s[i], 0, sizeof(s[i]));
		}
		story_run(e, s, 4);
		for (uint32_t i = 0; i < 4; i++) {
			cmd[i].id = 1;
			cmd[i].cache_reuse = 0;
			want = story_generate(plain, &cmd[i]);
			expect_same(&s[i], &want, 1e-4);
		}
	}
	st = story_check_idle(e);
	ck_assert_uint_eq(st.step_allocs, 0);
	ck_assert_uint_gt(st.n_shared_rows, 0);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Models whose rows cannot be moved refuse it, and say why. */
START_TEST(what_is_refused)
{
	static const struct {
		enum lmt_tiny kind;
		const char *why;
	} cases[] = {{LMT_WINDOW, "windows or states"},
		     {LMT_STATE, "windows or states"},
		     {LMT_HYBRID, "windows or states"}};

	for (uint32_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_engine_opts o = story_opts(&env, 1);
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 2);
		struct lmi_engine *e;
		struct story s;

		o.inst.path = paths[cases[i].kind];
		e = story_engine(&o);
		cmd.cache_reuse = PAGE;
		s = story_generate(e, &cmd);
		ck_assert_int_eq(s.end, LMI_ENGINE_EV_FAILED);
		ck_assert_int_eq(s.last.u.error.status, LMD_UNSUPPORTED);
		if (!strstr(s.last.u.error.text, "cache_reuse") ||
		    !strstr(s.last.u.error.text, cases[i].why))
			ck_abort_msg("%s", s.last.u.error.text);
		lmi_engine_fini(e);
	}
}
END_TEST

/* A durable stream has the same bytes after a restart, so it cannot depend on what the cache had. */
START_TEST(not_durable)
{
	struct lmi_engine *e = engine(env.path, "ref", LMD_DTYPE_F32, true);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 2);
	struct lmd_error err;

	cmd.cache_reuse = PAGE;
	cmd.flags |= LMI_ENGINE_GEN_RESUMABLE;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "cache_reuse"));
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("passages");
	TCase *t = tcase_create("passages");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, moved_is_computed_in_one_layer, 0, (int)LMD_LEN(kinds));
	tcase_add_test(t, a_text_that_repeats_itself);
	tcase_add_test(t, nobody_finds_moved_rows);
	tcase_add_test(t, beside_others);
	tcase_add_test(t, what_is_refused);
	tcase_add_test(t, not_durable);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
