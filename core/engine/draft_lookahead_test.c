/* SPDX-License-Identifier: MIT
 *
 * Lookahead decoding: what a window has, which guesses it finds, that answers stay the same, and that windows are
 * computed only as long as they pay. That the rows of a window see their own branch alone: draft_tree_test. */
#include "core/engine/draft_lookahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/draft_model.h"
#include "core/engine/draft_tree.h"
#include "core/engine/speculate.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define W LMI_ENGINE_LOOKAHEAD_COLUMNS
#define N LMI_ENGINE_LOOKAHEAD_N

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "lookahead");
}

static void teardown(void)
{
	story_env_fini(&env);
}

static const struct lmi_engine_drafter *const drafter = &lmi_engine_drafter_lookahead;

/* ---- the window ---- */

/* A model to which only the last token matters. */
static lmd_token follows(lmd_token t)
{
	return (lmd_token)((t * 5 + 3) % 97);
}

/* Lets the model predict what follows the last token of each column. */
static void predict(const lmd_token *window, const uint8_t *after, lmd_token *next)
{
	for (uint32_t i = 0; i < drafter->n_window; i++) {
		bool is_last = true;

		for (uint32_t k = i + 1; k < drafter->n_window; k++)
			is_last &= after[k] != i + 1;
		next[i] = is_last ? follows(window[i]) : -1;
	}
}

START_TEST(columns_follow_each_other)
{
	static const lmd_token v[] = {11, 12, 13, 14, 15};
	struct lmi_engine_draft_opts o = {.cap = 10};
	struct lmi_engine_tree t;
	uint32_t n_at[W + N] = {0}, n_last = 0;
	lmd_token window[LMI_ENGINE_DRAFT_MAX], next[LMI_ENGINE_DRAFT_MAX];
	void *a;

	ck_assert_uint_le(drafter->n_window + N - 1, LMI_ENGINE_DRAFT_MAX);
	ck_assert_int_eq(drafter->create(&a, &o, NULL), LMD_OK);
	lmi_engine_tree_clear(&t);
	t.n_window = drafter->n_window;
	drafter->window(a, v, LMD_LEN(v), window, t.after);
	for (uint32_t i = 0; i < t.n_window; i++) {
		ck_assert_uint_le(t.after[i], i);
		ck_assert(window[i] >= 11 && window[i] <= 15); /* taken from the sequence */
		n_at[lmi_engine_tree_depth(&t, i + 1)]++;
	}
	/* token l of column j is l + j tokens after the last known one, which is that of l = j = 0 */
	for (uint32_t d = 1; d < W + N - 2; d++) {
		uint32_t want = 0;

		for (uint32_t j = 0; j < W; j++)
			want += j <= d && d - j < N - 1;
		ck_assert_uint_eq(n_at[d], want);
	}
	predict(window, t.after, next);
	for (uint32_t i = 0; i < t.n_window; i++)
		n_last += next[i] >= 0;
	ck_assert_uint_eq(n_last, W);
	drafter->destroy(a);
}
END_TEST

/* Columns become texts of the model, and their n-grams guesses. */
START_TEST(n_grams_are_guesses)
{
	static lmd_token v[400];
	struct lmi_engine_draft_opts o = {.cap = LMD_LEN(v)};
	uint32_t n = 3, n_guess = 0, n_right = 0, n_step = 0, trust;
	void *a;

	ck_assert_int_eq(drafter->create(&a, &o, NULL), LMD_OK);
	for (uint32_t i = 0; i < n; i++)
		v[i] = (lmd_token)(50 + i);
	ck_assert_uint_eq(drafter->guess(a, v, n, 9, v + n, &trust), 0);
	while (n + N + 1 < LMD_LEN(v)) {
		lmd_token window[LMI_ENGINE_DRAFT_MAX], next[LMI_ENGINE_DRAFT_MAX], guesses[LMI_ENGINE_DRAFT_MAX];
		uint8_t after[LMI_ENGINE_DRAFT_MAX];
		uint32_t k = drafter->guess(a, v, n, 9, guesses, &trust), ok = 0;

		ck_assert(k == 0 || k == N - 1);
		drafter->window(a, v, n, window, after);
		v[n] = follows(v[n - 1]);
		while (ok < k && guesses[ok] == v[n + ok]) {
			v[n + ok + 1] = follows(v[n + ok]);
			ok++;
		}
		n += ok + 1;
		n_guess += k;
		n_right += ok;
		predict(window, after, next);
		drafter->see(a, next, ok + 1);
		n_step++;
	}
	printf("%u tokens in %u steps, %u of %u guesses were right\n", n - 3, n_step, n_right, n_guess);
	ck_assert_uint_lt(n_step, (n - 3) / 2);
	ck_assert_uint_gt(n_right, n_guess / 3);
	drafter->restart(a);
	drafter->destroy(a);
}
END_TEST

START_TEST(older_n_grams_are_others)
{
	struct lmi_engine_draft_opts o = {.cap = 10};
	lmd_token window[LMI_ENGINE_DRAFT_MAX], next[LMI_ENGINE_DRAFT_MAX], out[LMI_ENGINE_DRAFT_MAX], v[] = {7, 8};
	const lmd_token unknown = 9;
	lmd_token first, other[LMI_ENGINE_TREE_OTHERS] = {-1, -1};
	uint8_t after[LMI_ENGINE_DRAFT_MAX];
	uint32_t trust;
	void *a;

	ck_assert_int_eq(drafter->create(&a, &o, NULL), LMD_OK);
	/* the first column begins with 8 each time, and goes on with what was predicted so many steps ago */
	for (lmd_token i = 0; i < 3 * (lmd_token)N; i++) {
		drafter->window(a, v, 2, window, after);
		for (uint32_t k = 0; k < drafter->n_window; k++)
			next[k] = 100 + i;
		drafter->see(a, next, 1);
	}
	ck_assert_uint_eq(drafter->guess(a, v, 2, 15, out, &trust), N - 1);
	ck_assert_int_eq(out[N - 2], 100 + 3 * (lmd_token)N - 1);
	first = out[0];
	drafter->others(a, v, 2, first, other);
	ck_assert(other[0] == first - 1 && other[1] == first - 2);
	ck_assert_uint_eq(drafter->guess(a, v, 2, 1, out, &trust), 1);
	ck_assert_uint_eq(drafter->guess(a, &unknown, 1, 15, out, &trust), 0);
	/* what was not computed is no n-gram, and a long answer drops columns */
	for (uint32_t k = 0; k < drafter->n_window; k++)
		next[k] = -1;
	drafter->window(a, v, 2, window, after);
	drafter->see(a, next, W + 3);
	drafter->window(a, v, 2, window, after);
	for (uint32_t k = 0; k < drafter->n_window; k++)
		ck_assert(window[k] == 7 || window[k] == 8);
	drafter->destroy(a);
}
END_TEST

/* ---- the same answers ---- */

static const struct {
	const char *backend, *setting;
	enum lmi_engine_halves halves;
	uint32_t kv_tokens, n_out;
	uint32_t flag;
} machines[] = {
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, LMI_ENGINE_GEN_DRAFT_ALWAYS},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, LMI_ENGINE_GEN_DRAFT_BRANCHES},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 200, 0, LMI_ENGINE_GEN_DRAFT_BRANCHES}, /* some are preempted */
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 20, LMI_ENGINE_GEN_DRAFT_ALWAYS},    /* some windows are cut */
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, LMI_ENGINE_GEN_DRAFT_ALWAYS},
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, LMI_ENGINE_GEN_DRAFT_BRANCHES},
	{"emu", "late=1,seed=3", LMI_ENGINE_HALVES_NEVER, 0, 0, LMI_ENGINE_GEN_DRAFT_BRANCHES},
	{"emu", "late=1,seed=4", LMI_ENGINE_HALVES_ALWAYS, 200, 0, LMI_ENGINE_GEN_DRAFT_ALWAYS},
};

/* Greedy answers and sampled ones, of which the random numbers are the same as without guesses. _i: machine */
START_TEST(the_answers_are_the_same)
{
	enum { N_JOB = 4, N_OUT = 60, N_ROUND = 15 };
	static const struct lmi_sampler_spec greedy = {.name = "greedy"}, dist = {.name = "dist"};
	static lmd_token prompts[N_JOB][40];
	static struct story want[N_JOB], have[N_JOB];
	struct lmi_engine_opts o = story_opts(&env, N_JOB);
	uint64_t rnd = env.seed + (uint64_t)_i;
	struct lmi_engine *plain, *e;
	struct lmi_engine_stats st;

	o.inst.backend = machines[_i].backend;
	if (machines[_i].setting)
		ck_assert_int_eq(setenv("LLAMAD_EMU", machines[_i].setting, 1), 0);
	plain = story_engine(&o);
	o.halves = machines[_i].halves;
	o.inst.kv_tokens = machines[_i].kv_tokens;
	o.inst.n_out = machines[_i].n_out;
	o.inst.lookahead = true;
	e = story_engine(&o);
	for (int round = 0; round < N_ROUND; round++) {
		struct lmi_engine_generate cmd[N_JOB];

		memset(have, 0, sizeof(have));
		for (uint32_t i = 0; i < N_JOB; i++) {
			uint32_t n = 2 + (uint32_t)(lmd_rand(&rnd) % (LMD_LEN(prompts[i]) - 2));

			story_random_tokens(prompts[i], n, &rnd);
			cmd[i] = story_command(1, prompts[i], n, N_OUT);
			cmd[i].specs = lmd_rand(&rnd) % 3 ? &greedy : &dist;
			cmd[i].n_specs = 1;
			cmd[i].seed = lmd_rand(&rnd);
			want[i] = (struct story){0};
			want[i] = story_generate(plain, &cmd[i]);
			cmd[i].id = i + 1;
			cmd[i].draft = LMI_ENGINE_DRAFT_LOOKUP;
			cmd[i].n_draft = LMI_ENGINE_DRAFT_MAX;
			/* alone, or beside the look-up, which leaves room only if it finds little */
			cmd[i].drafter = lmd_rand(&rnd) % 4 ? drafter : NULL;
			cmd[i].flags |= machines[_i].flag;
		}
		for (uint32_t i = 0; i < N_JOB; i++)
			ck_assert_int_eq(lmi_engine_generate(e, &cmd[i], NULL), LMD_OK);
		story_run(e, have, N_JOB);
		for (uint32_t i = 0; i < N_JOB; i++) {
			ck_assert_uint_eq(have[i].n_tokens, want[i].n_tokens);
			ck_assert_mem_eq(have[i].tokens, want[i].tokens,
					 want[i].n_tokens * sizeof(want[i].tokens[0]));
			ck_assert_str_eq(have[i].text, want[i].text);
		}
	}
	st = story_check_idle(e);
	printf("%s: %llu of %llu guesses were right, %llu beside the chain; %llu rows\n", machines[_i].backend,
	       (unsigned long long)st.n_accepted, (unsigned long long)st.n_drafted,
	       (unsigned long long)st.n_branch, (unsigned long long)st.n_row);
	ck_assert_uint_gt(st.n_accepted, machines[_i].n_out ? 50 : 200);
	/* rows of windows are no guesses */
	ck_assert_uint_gt(st.n_row, st.n_drafted + (uint64_t)N_ROUND * N_JOB * N_OUT);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* A model whose rows cannot be masked is not loaded with it. */
START_TEST(refused_where_rows_cannot_be_masked)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmd_error err = {0};
	struct lmi_engine *e;

	o.inst.path = story_model(&env, LMT_STATE);
	o.inst.lookahead = true;
	ck_assert_int_eq(lmi_engine_open(&e, &o, &err), LMD_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "lookahead decoding: a row does not see all rows before it"), "%s", err.text);
}
END_TEST

/* ---- what pays ---- */

struct prices {
	double row, step;
};

static double price(const void *arg, uint32_t n_row)
{
	const struct prices *p = arg;

	return p->step + p->row * n_row;
}

/* Plays a generation in which a step with a window has `right` more right guesses on average. Returns by which factor it
 * is faster than without; *share: the part of the steps with a window. */
static double play(double right, const struct prices *p, double *share, uint64_t *rnd)
{
	const struct lmi_engine_generate cmd = {
		.draft = LMI_ENGINE_DRAFT_LOOKUP, .n_draft = LMI_ENGINE_DRAFT_MAX, .drafter = drafter};
	const struct lmi_engine_input_seq seq = {0};
	const struct lmi_engine_step_times times = {
		.n_row = 1, .now_ns = price(p, 1), .ns = price, .arg = p, .branches = true};
	const struct lmi_engine_draft_sources none = {0};
	static float logits[(1 + LMI_ENGINE_DRAFT_MAX) * 2];
	static lmd_token v[20100];
	struct lmi_engine_draft_want want;
	struct lmi_engine_speculation *s;
	uint32_t n = 2, n_step = 0, n_window = 0;
	double ns = 0;

	ck_assert_int_eq(lmi_engine_speculation_create(&s, &none, &cmd, &seq, LMD_LEN(v), NULL), LMD_OK);
	while (n < LMD_LEN(v) - 100) {
		uint32_t k = lmi_engine_speculation_guess(s, v, n, LMI_ENGINE_DRAFT_MAX, &times, &want);
		const struct lmi_engine_tree *t = lmi_engine_speculation_tree(s);
		bool has = t && t->n_window;
		uint32_t n_guess = t ? lmi_engine_tree_n_guess(t) : k, ok = 0;

		while (has && ok < n_guess && (double)(lmd_rand(rnd) % 1000) < 1000 * right / (1 + right))
			ok++;
		ns += price(p, 1 + k);
		lmi_engine_speculation_learn(s, n_guess, ok, false);
		if (has)
			lmi_engine_speculation_see(s, logits, 1 + k, 2, ok + 1);
		for (uint32_t i = 0; i <= ok; i++)
			v[n++] = 0;
		n_step++;
		n_window += has;
	}
	lmi_engine_speculation_destroy(s);
	*share = (double)n_window / n_step;
	return (n - 2) * price(p, 1) / ns;
}

START_TEST(windows_are_computed_while_they_pay)
{
	static const struct prices cheap = {1, 100}, dear = {10, 90};
	uint64_t rnd = lmd_seed("lookahead price", 3);
	double share, gain = play(0.5, &cheap, &share, &rnd);

	printf("cheap rows, 0.5 more: %.3f, in %.2f of the steps\n", gain, share);
	ck_assert(gain > 1.2 && share > 0.9);
	gain = play(0, &cheap, &share, &rnd);
	printf("cheap rows, none: %.3f, in %.2f of the steps\n", gain, share);
	ck_assert(gain > 0.97 && share < 0.3);
	gain = play(0.3, &dear, &share, &rnd);
	printf("dear rows, 0.3 more: %.3f, in %.2f of the steps\n", gain, share);
	ck_assert(gain > 0.98 && share < 0.02);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lookahead");
	TCase *t = tcase_create("lookahead");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, columns_follow_each_other);
	tcase_add_test(t, n_grams_are_guesses);
	tcase_add_test(t, older_n_grams_are_others);
	tcase_add_loop_test(t, the_answers_are_the_same, 0, LMD_LEN(machines));
	tcase_add_test(t, refused_where_rows_cannot_be_masked);
	tcase_add_test(t, windows_are_computed_while_they_pay);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
