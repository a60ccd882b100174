/* SPDX-License-Identifier: MIT
 *
 * What speculative decoding promises, in numbers: guesses of a given quality save the steps that
 * theory predicts, many greedy answers are the same, sampled ones have the same distribution, and
 * sequences share the steps of a draft model. LMD_TEST_LONG=1: 10000 greedy answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/draft.h"
#include "core/engine/engine_impl.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_SEQ	 8
#define N_PROMPT 40

static struct story_env env;
static char other[300]; /* a model of the same vocabulary that knows nothing of the first one */

static void setup(void)
{
	story_env_init(&env, "speculate_law");
	snprintf(other, sizeof(other), "%s.other", env.path);
	lmt_tiny_write(LMT_FULL, env.seed + 1, other);
}

static void teardown(void)
{
	(void)remove(other);
	story_env_fini(&env);
}

static uint32_t below(uint64_t *rnd, uint32_t n)
{
	return (uint32_t)(lmd_rand(rnd) % n);
}

static uint32_t random_prompt(lmd_token *v, uint64_t *rnd)
{
	uint32_t n = 2 + below(rnd, N_PROMPT - 2);

	for (uint32_t i = 0; i < n; i++)
		v[i] = (lmd_token)below(rnd, 95);
	return n;
}

/* ---- guesses of a given quality ---- */

/* Knows the answer; each of its guesses is right with a probability of `right`. */
static struct {
	struct story want;
	uint32_t n_prompt;
	double right;
	uint64_t rnd;
} oracle;

static enum lmd_status oracle_create(void **out, const struct lmi_engine_draft_opts *o,
				     struct lmd_error *err)
{
	(void)err;
	oracle.n_prompt = o->n_prompt;
	*out = &oracle;
	return LMD_OK;
}

static uint32_t oracle_guess(void *drafter, const lmd_token *tokens, uint32_t n_tokens,
			     uint32_t most, lmd_token *out, uint32_t *trust)
{
	uint32_t at = n_tokens - oracle.n_prompt, n = 0;

	(void)drafter;
	(void)tokens;
	*trust = 0;
	for (; n < most && at + n < oracle.want.n_tokens; n++) {
		bool right = below(&oracle.rnd, 1000000) < oracle.right * 1e6;

		out[n] = right ? oracle.want.tokens[at + n]
			       : (oracle.want.tokens[at + n] + 1) % 95;
	}
	return n;
}

static void oracle_forget(void *drafter)
{
	(void)drafter;
}

static const struct lmi_engine_drafter oracle_drafter = {.name = "oracle",
							 .create = oracle_create,
							 .guess = oracle_guess,
							 .destroy = oracle_forget,
							 .restart = oracle_forget};

static const struct {
	double right;
	uint32_t n;
} oracles[] = {{0.5, 2}, {0.5, 4}, {0.7, 4}, {0.9, 4}, {0.9, 8}};

/* n guesses that are each right with probability p make 1 + p + ... + p^n tokens of a step.
 * _i: oracle */
START_TEST(guesses_save_the_predicted_steps)
{
	enum { N_ANSWER = 40, N_OUT = 200 };
	double p = oracles[_i].right, expected = 0, power = 1, measured;
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *plain = story_engine(&o), *e = story_engine(&o);
	struct lmi_engine_stats st;
	uint32_t n_token = 0;

	oracle.rnd = env.seed + (uint64_t)_i;
	oracle.right = p;
	for (uint32_t i = 0; i <= oracles[_i].n; i++, power *= p)
		expected += power;
	for (int i = 0; i < N_ANSWER; i++) {
		lmd_token v[N_PROMPT];
		struct lmi_engine_generate cmd =
			story_command(1, v, random_prompt(v, &oracle.rnd), N_OUT);
		struct story have;

		oracle.want = story_generate(plain, &cmd);
		cmd.draft = LMI_ENGINE_DRAFT_ANY;
		cmd.drafter = &oracle_drafter;
		cmd.n_draft = oracles[_i].n;
		cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
		have = story_generate(e, &cmd);
		ck_assert_str_eq(have.text, oracle.want.text);
		ck_assert_uint_eq(have.n_tokens, N_OUT);
		n_token += have.n_tokens;
	}
	lmi_engine_stats(e, &st);
	measured = n_token / (double)st.n_step;
	printf("%u guesses, right with %.1f: %.3f tokens of a step, predicted %.3f\n",
	       oracles[_i].n, p, measured, expected);
	ck_assert_double_le(fabs(measured / expected - 1), 0.05);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* ---- the same answers ---- */

static struct story answers[2][N_SEQ];

static void run_all(struct lmi_engine *e, struct lmi_engine_generate *cmd, struct story *out)
{
	memset(out, 0, N_SEQ * sizeof(*out));
	for (uint32_t i = 0; i < N_SEQ; i++)
		ck_assert_int_eq(lmi_engine_generate(e, &cmd[i], NULL), LMD_OK);
	story_run(e, out, N_SEQ);
}

START_TEST(greedy_answers_are_the_same)
{
	uint32_t n = getenv("LMD_TEST_LONG") ? 10000 : 200, n_right = 0, n_drafted = 0;
	struct lmi_engine_opts o = story_opts(&env, N_SEQ);
	struct lmi_engine *plain = story_engine(&o), *e[2];
	uint64_t rnd = env.seed + 5;

	o.inst.draft_path = env.path;
	e[0] = story_engine(&o);
	o.inst.draft_path = other;
	e[1] = story_engine(&o);
	for (uint32_t i = 0; i < n; i += N_SEQ) {
		static lmd_token v[N_SEQ][N_PROMPT];
		struct lmi_engine_generate cmd[N_SEQ];

		for (uint32_t k = 0; k < N_SEQ; k++)
			cmd[k] = story_command(k + 1, v[k], random_prompt(v[k], &rnd), 24);
		run_all(plain, cmd, answers[0]);
		for (uint32_t k = 0; k < N_SEQ; k++) {
			cmd[k].draft = LMI_ENGINE_DRAFT_ANY;
			cmd[k].n_draft = 1 + below(&rnd, LMI_ENGINE_DRAFT_MAX);
			cmd[k].flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
		}
		run_all(e[i / N_SEQ % 2], cmd, answers[1]);
		for (uint32_t k = 0; k < N_SEQ; k++) {
			ck_assert_uint_eq(answers[0][k].n_tokens, 24);
			ck_assert_uint_eq(answers[1][k].n_tokens, 24);
			ck_assert_mem_eq(answers[1][k].tokens, answers[0][k].tokens,
					 24 * sizeof(lmd_token));
			n_drafted += answers[1][k].last.u.done.n_drafted;
			n_right += answers[1][k].last.u.done.n_accepted;
		}
	}
	printf("%u answers, %u of %u guesses were right\n", n, n_right, n_drafted);
	ck_assert(n_right > n && n_drafted - n_right > n);
	for (int i = 0; i < 2; i++)
		lmi_engine_fini(e[i]);
	lmi_engine_fini(plain);
}
END_TEST

/* ---- the same distribution ---- */

#define N_BIN  16
#define N_DRAW 4000

/* Counts the second and third tokens of sampled answers. flags: how to guess; 0: not at all */
static void draw(struct lmi_engine *e, uint64_t seed, int64_t n_top, uint32_t flags, uint32_t *bin)
{
	struct lmi_sampler_arg k = {"k", LMD_PARAM_INT, {.i = n_top}};
	const struct lmi_sampler_spec chain[] = {{.name = "top_k", .args = &k, .n_args = 1},
						 {.name = "dist"}};

	memset(bin, 0, N_BIN * sizeof(*bin));
	for (uint32_t i = 0; i < N_DRAW; i++) {
		struct lmi_engine_generate cmd = story_command(1, hello, 5, 4);
		struct story s;

		cmd.specs = chain;
		cmd.n_specs = 2;
		cmd.seed = seed + i;
		cmd.draft = flags ? LMI_ENGINE_DRAFT_MODEL : LMI_ENGINE_DRAFT_OFF;
		cmd.n_draft = flags == LMI_ENGINE_GEN_DRAFT_BRANCHES ? 6 : 2;
		cmd.flags |= flags;
		s = story_generate(e, &cmd);
		ck_assert_uint_eq(s.n_tokens, 4);
		bin[s.tokens[1] % N_BIN]++;
		bin[s.tokens[2] % N_BIN]++;
	}
}

/* Chi-square of two samples of the same size; its expectation is the number of bins - 1. */
static double chi_square(const uint32_t *a, const uint32_t *b)
{
	double sum = 0;

	for (int i = 0; i < N_BIN; i++)
		if (a[i] + b[i])
			sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]) / (a[i] + b[i]);
	return sum;
}

/* With 15 degrees of freedom, 60 is exceeded with a probability of 2e-7. */
START_TEST(sampled_answers_have_the_same_distribution)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *plain = story_engine(&o), *e;
	uint32_t a[N_BIN], b[N_BIN];
	struct lmi_engine_stats st;

	o.inst.draft_path = env.path;
	e = story_engine(&o);
	draw(plain, 0, N_BIN, 0, a);
	draw(e, 1u << 30, N_BIN, LMI_ENGINE_GEN_DRAFT_ALWAYS, b);
	lmi_engine_stats(e, &st);
	printf("chi-square %.1f, %llu of %llu guesses were right\n", chi_square(a, b),
	       (unsigned long long)st.n_accepted, (unsigned long long)st.n_drafted);
	ck_assert(st.n_accepted > 100 && st.n_drafted > 1000);
	ck_assert_double_lt(chi_square(a, b), 60);
	draw(e, 1u << 31, N_BIN, LMI_ENGINE_GEN_DRAFT_BRANCHES, b);
	lmi_engine_stats(e, &st);
	printf("with branches: chi-square %.1f, a guess beside the chain was right %llu times\n",
	       chi_square(a, b), (unsigned long long)st.n_branch);
	ck_assert_uint_gt(st.n_branch, 300);
	ck_assert_double_lt(chi_square(a, b), 60);
	/* the test notices another distribution */
	draw(e, 1u << 30, N_BIN / 2, LMI_ENGINE_GEN_DRAFT_ALWAYS, b);
	ck_assert_double_gt(chi_square(a, b), 60);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* ---- the draft model ---- */

/* Sequences that guess at the same time share its steps. */
START_TEST(sequences_draft_together)
{
	struct lmi_engine_opts o = story_opts(&env, N_SEQ);
	static lmd_token v[N_SEQ][N_PROMPT];
	struct lmi_engine_generate cmd[N_SEQ];
	struct lmi_engine_stats st;
	uint64_t rnd = env.seed + 9;
	struct lmi_engine *e;

	o.inst.draft_path = env.path;
	e = story_engine(&o);
	for (uint32_t k = 0; k < N_SEQ; k++) {
		cmd[k] = story_command(k + 1, v[k], random_prompt(v[k], &rnd), 60);
		cmd[k].draft = LMI_ENGINE_DRAFT_MODEL;
		cmd[k].n_draft = 4;
		cmd[k].flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	}
	run_all(e, cmd, answers[0]);
	lmi_engine_stats(e, &st);
	printf("%llu steps, %llu of the draft model, with %llu rows\n",
	       (unsigned long long)st.n_step, (unsigned long long)st.n_draft_step,
	       (unsigned long long)st.n_draft_row);
	ck_assert_uint_eq(st.n_accepted, st.n_drafted);
	ck_assert_uint_ge(st.n_accepted, N_SEQ * 40);
	ck_assert_uint_le(st.n_draft_step, 4 * st.n_step); /* not 4 of each sequence */
	ck_assert_uint_ge(st.n_draft_row, N_SEQ * 40);
	lmi_engine_fini(e);
}
END_TEST

/* What the draft model has to compute before its first guess is part of the price of a guess. */
START_TEST(an_unseen_prompt_has_its_price)
{
	const struct lmi_engine_drafter *d = &lmi_engine_drafter_model;
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine_generate cmd;
	struct lmi_engine_draft_opts opts = {.cap = 200};
	lmd_token v[150];
	struct lmi_engine *e;
	void *drafter;

	o.inst.draft_path = env.path;
	e = story_engine(&o);
	for (uint32_t i = 0; i < LMD_LEN(v); i++)
		v[i] = (lmd_token)(i % 95);
	cmd = story_command(1, v, LMD_LEN(v), 20);
	cmd.draft = LMI_ENGINE_DRAFT_MODEL;
	cmd.n_draft = 4;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	(void)story_generate(e, &cmd);
	opts.model = e->inst->draft;
	ck_assert_int_eq(d->create(&drafter, &opts, NULL), LMD_OK);
	ck_assert_double_gt(d->cost_ns(drafter, 5), 0);
	ck_assert_double_gt(d->cost_ns(drafter, 150), d->cost_ns(drafter, 5));
	ck_assert_double_lt(d->cost_ns(drafter, 200), 0); /* it is full */
	d->destroy(drafter);
	lmi_engine_fini(e);
}
END_TEST

/* ---- off when it does not pay ---- */

/* A drafter whose guesses take time. */
static double guess_ns;

static enum lmd_status costly_create(void **out, const struct lmi_engine_draft_opts *o, struct lmd_error *err)
{
	(void)o;
	(void)err;
	*out = &guess_ns;
	return LMD_OK;
}

static double costly_ns(const void *drafter, uint32_t n_tokens)
{
	(void)n_tokens;
	return *(const double *)drafter;
}

static void costly_nothing(void *drafter)
{
	(void)drafter;
}

static const struct lmi_engine_drafter costly = {.name = "costly",
						 .create = costly_create,
						 .cost_ns = costly_ns,
						 .destroy = costly_nothing,
						 .restart = costly_nothing};

static double step_price(const void *row_ns, uint32_t n_row)
{
	return 100 + *(const double *)row_ns * n_row;
}

/* Plays a generation of 4000 tokens whose guesses are right with that probability, in the prices' time. Returns how
 * much faster it is than without guesses; *n_guess: guessed tokens. */
static double play_costly(double right, double row_ns, uint64_t *rnd, uint32_t *n_guess)
{
	static lmd_token v[4100];
	const struct lmi_engine_generate cmd = {
		.draft = LMI_ENGINE_DRAFT_LOOKUP, .n_draft = 8, .drafter = &costly};
	const struct lmi_engine_input_seq seq = {0};
	const struct lmi_engine_draft_sources none = {0};
	const struct lmi_engine_step_times times = {.n_row = 1, .now_ns = step_price(&row_ns, 1), .ns = step_price, .arg = &row_ns};
	struct lmi_engine_draft_want want;
	struct lmi_engine_speculation *s;
	uint32_t n = 8, n_right;
	double ns = 0;

	ck_assert_int_eq(lmi_engine_speculation_create(&s, &none, &cmd, &seq, LMD_LEN(v), NULL), LMD_OK);
	while (n < 4000) {
		uint32_t k = lmi_engine_speculation_guess(s, v, n, 8, &times, &want), ok = 0;

		ck_assert_uint_eq(k, 0); /* a drafter that takes time is asked by the engine */
		k = want.drafter ? want.most : 0;
		ns += k * guess_ns + step_price(&row_ns, 1 + k);
		while (ok < k && (double)below(rnd, 1000000) < right * 1e6)
			ok++;
		lmi_engine_speculation_learn(s, k, ok, false);
		n += ok + 1;
	}
	lmi_engine_speculation_count(s, n_guess, &n_right);
	lmi_engine_speculation_destroy(s);
	return (n - 8) * step_price(&row_ns, 1) / ns;
}

/* Guesses that take time cost next to nothing where they do not pay, and help where they do. */
START_TEST(costly_guesses_stop_where_they_do_not_pay)
{
	static const double chances[] = {0, 0.2, 0.5, 0.8, 0.95}, costs[] = {5, 30, 100, 400}, rows[] = {1, 30};
	uint64_t rnd = lmd_seed("speculate costly", 5);

	for (size_t r = 0; r < LMD_LEN(rows); r++)
		for (size_t c = 0; c < LMD_LEN(costs); c++)
			for (size_t i = 0; i < LMD_LEN(chances); i++) {
				uint32_t n_guess = 0;
				double gain;

				guess_ns = costs[c];
				gain = play_costly(chances[i], rows[r], &rnd, &n_guess);
				printf("right %.2f, a row %g, a guess %g of %g: %.3f, %u guesses\n", chances[i],
				       rows[r], costs[c], step_price(&rows[r], 1), gain, n_guess);
				ck_assert_double_ge(gain, 0.97);
				if (costs[c] >= 100)
					ck_assert_uint_lt(n_guess, 200);
				if (costs[c] <= 5 && rows[r] <= 1 && chances[i] > 0.7)
					ck_assert_double_ge(gain, 2);
			}
}
END_TEST

/* A device that goes on by itself is not kept from it by guesses that do not pay, but they are tried now and then. */
START_TEST(costly_guesses_leave_the_device_alone)
{
	static lmd_token v[4100];
	double row_ns = 1;
	const struct lmi_engine_generate cmd = {
		.draft = LMI_ENGINE_DRAFT_LOOKUP, .n_draft = 8, .drafter = &costly};
	const struct lmi_engine_input_seq seq = {0};
	const struct lmi_engine_draft_sources none = {0};
	const struct lmi_engine_step_times times = {
		.n_row = 1, .now_ns = step_price(&row_ns, 1), .ns = step_price, .arg = &row_ns, .host_ns = 10};
	struct lmi_engine_draft_want want;
	struct lmi_engine_speculation *s;
	uint32_t n_held = 0, n_guess, n_right;
	bool chained = false;

	guess_ns = 100;
	ck_assert_int_eq(lmi_engine_speculation_create(&s, &none, &cmd, &seq, LMD_LEN(v), NULL), LMD_OK);
	for (uint32_t n = 8; n < 4000; n++) {
		uint32_t k = 0;

		if (chained) {
			lmi_engine_speculation_watch(s, v, n, 8, &times);
		} else {
			(void)lmi_engine_speculation_guess(s, v, n, 8, &times, &want);
			k = want.drafter ? want.most : 0;
		}
		lmi_engine_speculation_learn(s, k, 0, false);
		chained = lmi_engine_speculation_rests(s);
		n_held += !chained;
	}
	lmi_engine_speculation_count(s, &n_guess, &n_right);
	lmi_engine_speculation_destroy(s);
	printf("%u of 3992 steps were not chained, %u guesses\n", n_held, n_guess);
	ck_assert_uint_ge(n_guess, 20);
	ck_assert_uint_lt(n_held, 120);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("speculate_law");
	TCase *t = tcase_create("speculate_law");

	tcase_set_timeout(t, 900);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, guesses_save_the_predicted_steps, 0, LMD_LEN(oracles));
	tcase_add_test(t, greedy_answers_are_the_same);
	tcase_add_test(t, sampled_answers_have_the_same_distribution);
	tcase_add_test(t, sequences_draft_together);
	tcase_add_test(t, an_unseen_prompt_has_its_price);
	suite_add_tcase(s, t);
	t = tcase_create("prices");
	tcase_set_timeout(t, 300);
	tcase_add_test(t, costly_guesses_stop_where_they_do_not_pay);
	tcase_add_test(t, costly_guesses_leave_the_device_alone);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
