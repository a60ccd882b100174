/* SPDX-License-Identifier: MIT
 *
 * Speculative decoding: the answers do not change, however good or bad the guesses are, alone and
 * with others, with samplers, stop texts, grammars and too little memory; what is guessed, and
 * how much. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/constrain.h"
#include "core/engine/draft_model.h"
#include "core/engine/speculate.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_JOB	 6
#define N_PROMPT 90
#define N_OUT	 60 /* tokens of an answer */

static struct story_env env;
static char other[300]; /* a model of the same vocabulary that knows nothing of the first one */

static void setup(void)
{
	story_env_init(&env, "speculate");
	snprintf(other, sizeof(other), "%s.other", env.path);
	lmt_tiny_write(LMT_FULL, env.seed + 1, other);
}

static void teardown(void)
{
	(void)remove(other);
	story_env_fini(&env);
}

/* ---- the same answers ---- */

static struct lmi_sampler_arg penalty[] = {{"repeat", LMD_PARAM_FLOAT, {.f = 1.3f}}};
static struct lmi_sampler_arg few[] = {{"k", LMD_PARAM_INT, {.i = 8}}};
static const struct lmi_sampler_spec chains[][3] = {
	{{.name = "greedy"}},
	{{.name = "dist"}},
	{{.name = "penalties", .args = penalty, .n_args = 1}, {.name = "greedy"}},
	{{.name = "penalties", .args = penalty, .n_args = 1},
	 {.name = "top_k", .args = few, .n_args = 1},
	 {.name = "dist"}},
};

struct job {
	lmd_token v[N_PROMPT], prediction[N_OUT];
	struct lmi_engine_generate cmd;
	struct story want;
};

static uint32_t below(uint64_t *rnd, uint32_t n)
{
	return (uint32_t)(lmd_rand(rnd) % n);
}

/* A prompt that repeats itself now and then. */
static void make_prompt(struct job *j, uint32_t n, uint64_t *rnd)
{
	for (uint32_t i = 0; i < n; i++)
		j->v[i] = i > 10 && below(rnd, 4) ? j->v[i - 1 - below(rnd, 8)]
						  : (lmd_token)below(rnd, 95);
}

static void make_job(struct job *j, uint32_t id, uint64_t *rnd)
{
	static const struct lmd_str stop = {.ptr = "AB", .len = 2};
	uint32_t chain = below(rnd, LMD_LEN(chains)), n = 2 + below(rnd, N_PROMPT - 2);

	make_prompt(j, n, rnd);
	j->cmd = story_command(id, j->v, n, 1 + below(rnd, N_OUT));
	j->cmd.specs = chains[chain];
	for (j->cmd.n_specs = 0; j->cmd.n_specs < 3 && chains[chain][j->cmd.n_specs].name;)
		j->cmd.n_specs++;
	j->cmd.seed = lmd_rand(rnd);
	j->cmd.flags = below(rnd, 4) ? LMI_ENGINE_GEN_IGNORE_EOG : 0;
	j->cmd.n_logprobs = below(rnd, 3) ? 0 : 1 + below(rnd, 4);
	j->cmd.n_min = below(rnd, 3) ? 0 : below(rnd, 10);
	if (!below(rnd, 4)) {
		j->cmd.stops = &stop;
		j->cmd.n_stops = 1;
	}
}

/* Predicts the answer with one of so many tokens changed; 0: none. */
static void predict(struct job *j, uint32_t wrong, uint64_t *rnd)
{
	uint32_t n = j->want.n_tokens < N_OUT ? j->want.n_tokens : N_OUT;

	for (uint32_t i = 0; i < n; i++)
		j->prediction[i] = wrong && !below(rnd, wrong) ? (lmd_token)below(rnd, 95)
							       : j->want.tokens[i];
	j->cmd.prediction = j->prediction;
	j->cmd.n_prediction = n;
	j->cmd.draft = LMI_ENGINE_DRAFT_ANY;
	j->cmd.n_draft = 1 + below(rnd, LMI_ENGINE_DRAFT_MAX);
	if (!below(rnd, 4))
		j->cmd.flags |= LMI_ENGINE_GEN_NO_CACHE;
	j->cmd.flags |= below(rnd, 2) ? LMI_ENGINE_GEN_DRAFT_ALWAYS : LMI_ENGINE_GEN_DRAFT_BRANCHES;
}

/* bits: log probabilities are the same to the last bit. The cpu adds up the keys that a row sees in another order if
 * those of other branches lie between them. */
static void expect_alike(const struct story *want, const struct story *have, bool bits)
{
	ck_assert_int_eq(have->end, LMI_ENGINE_EV_DONE);
	ck_assert_str_eq(have->text, want->text);
	ck_assert_uint_eq(have->n_tokens, want->n_tokens);
	ck_assert_mem_eq(have->tokens, want->tokens, want->n_tokens * sizeof(want->tokens[0]));
	ck_assert_uint_eq(have->n_logprobs, want->n_logprobs);
	for (uint32_t i = 0; i < want->n_logprobs && bits; i++)
		ck_assert_mem_eq(have->logprobs[i].v, want->logprobs[i].v,
				 want->logprobs[i].n * sizeof(want->logprobs[i].v[0]));
	for (uint32_t i = 0; i < want->n_logprobs; i++)
		for (uint32_t k = 0; k < want->logprobs[i].n; k++) {
			ck_assert_int_eq(have->logprobs[i].v[k].token, want->logprobs[i].v[k].token);
			ck_assert_float_eq_tol(have->logprobs[i].v[k].logprob,
					       want->logprobs[i].v[k].logprob, 1e-4f);
		}
	ck_assert_int_eq(have->last.u.done.finish, want->last.u.done.finish);
	ck_assert_uint_eq(have->last.u.done.n_out, want->last.u.done.n_out);
}

static void expect_same(const struct story *want, const struct story *have)
{
	expect_alike(want, have, true);
}

static void expect_all_free(struct lmi_engine *e)
{
	struct lmi_engine_stats st;

	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.n_active + st.n_waiting, 0);
	ck_assert_uint_eq(st.step_allocs, 0);
	for (int g = 0; g < LMD_MAX_GROUP; g++)
		ck_assert_uint_eq(st.n_free[g], st.n_page[g]);
}

static const struct {
	const char *backend, *setting;
	enum lmi_engine_halves halves;
	uint32_t kv_tokens, n_out;
	enum { NO_MODEL, SAME_MODEL, OTHER_MODEL } draft;
} machines[] = {
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, NO_MODEL},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 260, 0, NO_MODEL}, /* some are preempted */
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 8, NO_MODEL},   /* few rows for guesses */
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 260, 0, NO_MODEL},
	{"emu", "late=1,seed=3", LMI_ENGINE_HALVES_NEVER, 260, 0, NO_MODEL},
	{"emu", "late=1,seed=4", LMI_ENGINE_HALVES_ALWAYS, 260, 0, NO_MODEL},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, SAME_MODEL},
	{"ref", NULL, LMI_ENGINE_HALVES_AUTO, 260, 0, OTHER_MODEL}, /* both are short of memory */
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 260, 0, SAME_MODEL},
	{"cpu", NULL, LMI_ENGINE_HALVES_AUTO, 0, 0, OTHER_MODEL},
	{"emu", "late=1,seed=5", LMI_ENGINE_HALVES_NEVER, 260, 0, SAME_MODEL},
	{"emu", "late=1,seed=6", LMI_ENGINE_HALVES_ALWAYS, 0, 0, OTHER_MODEL},
};

/* _i: machine */
START_TEST(the_answers_are_the_same)
{
	struct lmi_engine_opts o = story_opts(&env, N_JOB);
	const uint32_t n_round = lmd_rounds(60);
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
	o.inst.draft_path = machines[_i].draft == SAME_MODEL	? env.path
			    : machines[_i].draft == OTHER_MODEL ? other
								: NULL;
	e = story_engine(&o);
	for (uint32_t round = 0; round < n_round; round++) {
		static struct job jobs[N_JOB];
		static struct story have[N_JOB];

		memset(have, 0, sizeof(have));
		for (uint32_t i = 0; i < N_JOB; i++) {
			make_job(&jobs[i], i + 1, &rnd);
			jobs[i].want = (struct story){0};
			jobs[i].cmd.id = 1;
			jobs[i].want = story_generate(plain, &jobs[i].cmd);
			jobs[i].cmd.id = i + 1;
			predict(&jobs[i], below(&rnd, 8), &rnd);
		}
		for (uint32_t i = 0; i < N_JOB; i++)
			ck_assert_int_eq(lmi_engine_generate(e, &jobs[i].cmd, NULL), LMD_OK);
		story_run(e, have, N_JOB);
		for (uint32_t i = 0; i < N_JOB; i++)
			expect_alike(&jobs[i].want, &have[i],
				     !o.inst.draft_path || strcmp(o.inst.backend, "cpu") != 0);
	}
	lmi_engine_stats(e, &st);
	printf("%s: %llu of %llu guesses were right, %llu beside the chain, %llu preempted\n",
	       machines[_i].backend, (unsigned long long)st.n_accepted,
	       (unsigned long long)st.n_drafted, (unsigned long long)st.n_branch,
	       (unsigned long long)st.n_preempted);
	ck_assert(machines[_i].draft != OTHER_MODEL || st.n_branch);
	ck_assert_uint_gt(st.n_accepted * 60, 1000 * n_round);
	ck_assert_uint_gt((st.n_drafted - st.n_accepted) * 60, 1000 * n_round);
	expect_all_free(e);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* A prediction that is right saves steps, and the figures of the answer say so. */
START_TEST(right_guesses_save_steps)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *plain = story_engine(&o), *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 64);
	struct story want = story_generate(plain, &cmd), have;
	struct lmi_engine_stats a, b;

	ck_assert_uint_eq(want.last.u.done.n_drafted, 0);
	cmd.draft = LMI_ENGINE_DRAFT_LOOKUP;
	cmd.n_draft = 7;
	cmd.prediction = want.tokens;
	cmd.n_prediction = want.n_tokens;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	have = story_generate(e, &cmd);
	ck_assert_str_eq(want.text, have.text);
	lmi_engine_stats(plain, &a);
	lmi_engine_stats(e, &b);
	printf("%llu steps instead of %llu\n", (unsigned long long)b.n_step,
	       (unsigned long long)a.n_step);
	ck_assert_uint_eq(a.n_step, 64);
	ck_assert_uint_le(b.n_step, 64 / 4);
	ck_assert_uint_eq(have.last.u.done.n_drafted, b.n_drafted);
	ck_assert_uint_eq(have.last.u.done.n_accepted, b.n_accepted);
	ck_assert_uint_ge(b.n_accepted, 48);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* A draft model that is the model itself is always right; one that knows nothing is asked less. */
START_TEST(a_draft_model)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *plain = story_engine(&o), *e;
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 120);
	struct story want = story_generate(plain, &cmd), have;
	struct lmi_engine_info info;
	struct lmi_engine_stats st;
	uint64_t kv_bytes;

	lmi_engine_info(plain, &info);
	ck_assert_ptr_null(info.draft);
	kv_bytes = info.kv_bytes;
	cmd.draft = LMI_ENGINE_DRAFT_MODEL;
	cmd.n_draft = 7;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	have = story_generate(plain, &cmd); /* there is none */
	ck_assert_uint_eq(have.last.u.done.n_drafted, 0);
	o.inst.draft_path = env.path;
	e = story_engine(&o);
	lmi_engine_info(e, &info);
	ck_assert_ptr_nonnull(info.draft);
	ck_assert_uint_eq(info.kv_bytes, 2 * kv_bytes);
	for (int i = 0; i < 2; i++) { /* the second time from its prefix cache */
		have = story_generate(e, &cmd);
		expect_same(&want, &have);
		ck_assert_uint_eq(have.last.u.done.n_drafted, have.last.u.done.n_accepted);
		ck_assert_uint_ge(have.last.u.done.n_accepted, 90);
	}
	expect_all_free(e);
	lmi_engine_fini(e);
	o.inst.draft_path = other;
	e = story_engine(&o);
	cmd.flags &= ~LMI_ENGINE_GEN_DRAFT_ALWAYS;
	have = story_generate(e, &cmd);
	expect_same(&want, &have);
	lmi_engine_stats(e, &st);
	printf("%u of %u guesses were right, %llu steps\n", have.last.u.done.n_accepted,
	       have.last.u.done.n_drafted, (unsigned long long)st.n_step);
	ck_assert_uint_lt(have.last.u.done.n_drafted, 400); /* of 120 times 7 */
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Draft models that do not fit the model, and files that are none, are refused with a reason. */
START_TEST(draft_models_that_do_not_fit)
{
	static const struct {
		bool exists;
		enum lmt_tiny kind;
		const char *why;
	} cases[] = {
		{true, LMT_WORDS, "its vocabulary is not that of"},
		{true, LMT_STATE, "has states, which cannot go back after a wrong guess"},
		{true, LMT_WINDOW, "its vocabulary is not that of"},
		{false, LMT_FULL, "No such file"},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_engine_opts o = story_opts(&env, 1);
		struct lmi_engine *e = NULL;
		struct lmd_error err = {0};
		char path[320];

		snprintf(path, sizeof(path), "%s.draft", env.path);
		if (cases[i].exists)
			lmt_tiny_write(cases[i].kind, 3, path);
		o.inst.draft_path = path;
		ck_assert_int_ne(lmi_engine_open(&e, &o, &err), LMD_OK);
		printf("%s\n", err.text);
		ck_assert_msg(strstr(err.text, "draft model ") && strstr(err.text, ".draft") &&
				      strstr(err.text, cases[i].why),
			      "%s", err.text);
		(void)remove(path);
	}
}
END_TEST

/* Cancelled in every step. _i: with a draft model */
START_TEST(cancelled_while_guessing)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e;
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 100);
	struct lmi_engine_event ev;

	o.inst.draft_path = _i ? env.path : NULL;
	e = story_engine(&o);
	cmd.draft = LMI_ENGINE_DRAFT_ANY;
	cmd.n_draft = 8;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	for (int at = 0; at < 20; at++) {
		struct story s = {0};

		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		for (int i = 0; i < at; i++)
			(void)lmi_engine_step(e);
		ck_assert_int_eq(lmi_engine_cancel(e, 1), LMD_OK);
		while (lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE)
			;
		while (lmi_engine_poll(e, &ev))
			story_tell(&s, &ev);
		ck_assert_uint_eq(s.n_final, 1);
		expect_all_free(e);
	}
	lmi_engine_fini(e);
}
END_TEST

/* ---- with a grammar ---- */

static struct story constrained(struct lmi_engine *e, struct lmi_engine_generate cmd,
				enum lmi_engine_jump jump)
{
	static const char gbnf[] = "root ::= (\"[\" [A-Za-f]* \"] \" (\"HELLO \" | \"HELP \"))+";
	struct lmi_engine_constrain_opts o = {
		.grammar.gbnf = {gbnf, sizeof(gbnf) - 1}, .jump = jump, .n_prompt = cmd.seq.n_tokens,
		.prompt = cmd.seq.tokens};
	struct story s = {0};
	struct lmi_engine_event ev;
	struct lmd_error err;
	size_t kept;

	ck_assert_msg(lmi_engine_constrain(e, &o, &cmd.constraint, &kept, &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
	while (!s.n_final) {
		(void)lmi_engine_step(e);
		while (!s.n_final && lmi_engine_poll(e, &ev))
			story_tell(&s, &ev);
	}
	return s;
}

/* _i: jump-forward decoding, and whether workers find the next tokens */
START_TEST(grammars_hold)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *plain = story_engine(&o), *e;
	enum lmi_engine_jump jump = (enum lmi_engine_jump)(_i % 3);
	const uint32_t n_round = lmd_rounds(60);
	uint64_t rnd = env.seed + 77, n_accepted = 0;

	o.n_mask_thread = _i < 3 ? 0 : 2;
	o.inst.draft_path = _i == 1 ? env.path : _i == 4 ? other : NULL;
	e = story_engine(&o);
	for (uint32_t i = 0; i < n_round; i++) {
		static struct job j;
		struct story have;

		make_job(&j, 1, &rnd);
		j.cmd.stops = NULL;
		j.cmd.n_stops = 0;
		if (jump != LMI_ENGINE_JUMP_OFF)
			j.cmd.n_logprobs = 0; /* forced tokens have none of their own */
		j.want = constrained(plain, j.cmd, jump);
		predict(&j, below(&rnd, 8), &rnd);
		have = constrained(e, j.cmd, jump);
		expect_same(&j.want, &have);
		n_accepted += have.last.u.done.n_accepted;
	}
	printf("%llu guesses were right\n", (unsigned long long)n_accepted);
	/* a worker finds what follows each token of forced text */
	ck_assert(n_accepted * 6 > n_round * 5 || (jump == LMI_ENGINE_JUMP_TEXT && o.n_mask_thread));
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* ---- what is guessed ---- */

START_TEST(lookup)
{
	static const lmd_token v[] = {1, 2, 3, 4, 9, 2, 3, 5, 6, 7, 1, 2, 3}, hint[] = {8, 6, 5, 4};
	static const lmd_token wave[] = {1, 2, 1, 2, 1, 2}, agrees[] = {1, 2, 3, 7};
	const struct lmi_engine_drafter *d = &lmi_engine_drafter_lookup;
	struct lmi_engine_draft_opts o = {
		.prompt = v, .n_prompt = 5, .cap = 20, .hint = hint, .n_hint = 4};
	lmd_token out[LMI_ENGINE_DRAFT_MAX];
	uint32_t trust = 99;
	void *l;

	ck_assert_int_eq(d->create(&l, &o, NULL), LMD_OK);
	ck_assert_uint_eq(d->guess(l, v, 5, 4, out, &trust), 0); /* 4 9 has not occurred */
	/* 2 3 occurred twice before, 1 2 3 once */
	ck_assert_uint_eq(d->guess(l, v, 13, 4, out, &trust), 4);
	ck_assert_mem_eq(out, v + 3, 4 * sizeof(out[0]));
	ck_assert_uint_eq(trust, 1);
	ck_assert_uint_eq(d->guess(l, v, 13, 1, out, &trust), 1);
	/* in place of 4, what follows the other 2 3, and nothing else */
	d->others(l, v, 13, 4, out);
	ck_assert(out[0] == 5 && out[1] < 0);
	d->destroy(l);
	/* the text where more tokens agree comes first */
	o.hint = agrees;
	ck_assert_int_eq(d->create(&l, &o, NULL), LMD_OK);
	ck_assert_uint_eq(d->guess(l, v, 13, 4, out, &trust), 4);
	ck_assert_int_eq(out[0], 4);
	d->others(l, v, 13, 4, out);
	ck_assert(out[0] == 7 && out[1] == 5);
	d->destroy(l);
	o.hint = hint;
	/* what was expected, and no more than that */
	o.n_prompt = 2;
	o.prompt = hint;
	ck_assert_int_eq(d->create(&l, &o, NULL), LMD_OK);
	ck_assert_uint_eq(d->guess(l, hint, 2, 9, out, &trust), 2);
	ck_assert_mem_eq(out, hint + 2, 2 * sizeof(out[0]));
	d->destroy(l);
	/* a repetition goes on after the end of what is known */
	o = (struct lmi_engine_draft_opts){.cap = 20};
	ck_assert_int_eq(d->create(&l, &o, NULL), LMD_OK);
	ck_assert_uint_eq(d->guess(l, wave, 1, 9, out, &trust), 0);
	ck_assert_uint_eq(d->guess(l, wave, 6, 7, out, &trust), 7);
	for (int i = 0; i < 7; i++)
		ck_assert_int_eq(out[i], 1 + i % 2);
	d->destroy(l);
}
END_TEST

struct prices {
	double row, step;
};

static double price(const void *arg, uint32_t n_row)
{
	const struct prices *p = arg;

	return p->step + p->row * n_row;
}

/* Plays a generation whose guesses are right with this probability; returns how much less time it
 * takes than without guesses. */
static double play(double right, const struct prices *prices, uint64_t *rnd)
{
	static lmd_token v[40000];
	const struct lmi_engine_generate cmd = {.draft = LMI_ENGINE_DRAFT_LOOKUP, .n_draft = 15};
	const struct lmi_engine_input_seq seq = {0};
	struct lmi_engine_step_times times = {.n_row = 1, .now_ns = price(prices, 1), .ns = price, .arg = prices};
	const struct lmi_engine_draft_sources none = {0};
	struct lmi_engine_draft_want want;
	struct lmi_engine_speculation *s;
	double ns = 0;
	uint32_t n = 8, n_drafted, n_accepted;

	for (uint32_t i = 0; i < n; i++)
		v[i] = 7;
	ck_assert_int_eq(lmi_engine_speculation_create(&s, &none, &cmd, &seq, LMD_LEN(v),
						       NULL),
			 LMD_OK);
	while (n < 20000) {
		uint32_t k = lmi_engine_speculation_guess(s, v, n, 15, &times, &want), ok = 0;

		ns += price(prices, 1 + k);
		while (ok < k && (double)below(rnd, 1000000) < right * 1e6)
			ok++;
		lmi_engine_speculation_learn(s, k, ok, false);
		for (uint32_t i = 0; i <= ok; i++)
			v[n++] = 7;
	}
	lmi_engine_speculation_count(s, &n_drafted, &n_accepted);
	ck_assert_uint_le(n_accepted, n_drafted);
	lmi_engine_speculation_destroy(s);
	return (n - 8) * price(prices, 1) / ns;
}

/* The gain of the best fixed number of guesses. */
static double best_gain(double right, const struct prices *prices)
{
	double best = 1, sum = 0, power = 1;

	for (uint32_t n = 1; n <= 15; n++) {
		power *= right;
		sum += power;
		if ((1 + sum) * price(prices, 1) / price(prices, 1 + n) > best)
			best = (1 + sum) * price(prices, 1) / price(prices, 1 + n);
	}
	return best;
}

/* The gain is close to the best one if that is large, and guesses that do not pay cost next to
 * nothing. */
START_TEST(the_length_follows_what_pays)
{
	static const double chances[] = {0, 0.05, 0.2, 0.5, 0.7, 0.9, 0.98};
	static const struct prices prices[] = {{1, 100}, {10, 100}, {50, 100}, {100, 0}};
	uint64_t rnd = lmd_seed("speculate length", 3);

	for (size_t p = 0; p < LMD_LEN(prices); p++)
		for (size_t i = 0; i < LMD_LEN(chances); i++) {
			double gain = play(chances[i], &prices[p], &rnd);
			double best = best_gain(chances[i], &prices[p]);

			printf("right %.2f, a row costs %g of %g: %.3f of %.3f\n", chances[i],
			       prices[p].row, prices[p].row + prices[p].step, gain, best);
			ck_assert_double_ge(gain, 0.97);
			ck_assert_double_ge(gain, (best < 1.3 ? 0.88 : 0.95) * best);
		}
}
END_TEST

/* No step without guesses was measured, though others were: nothing is guessed, so that one is, but not for long. Steps
 * that are complete before the host waits for them are never measured. */
START_TEST(guesses_wait_for_a_measured_step)
{
	static const struct prices prices = {1, 100};
	static lmd_token v[400];
	const struct lmi_engine_generate cmd = {.draft = LMI_ENGINE_DRAFT_LOOKUP, .n_draft = 7};
	const struct lmi_engine_input_seq seq = {0};
	const struct lmi_engine_step_times times = {.n_row = 1, .ns = price, .arg = &prices};
	const struct lmi_engine_draft_sources none = {0};
	struct lmi_engine_draft_want want;
	struct lmi_engine_speculation *s;
	uint32_t first = 0;

	ck_assert_int_eq(lmi_engine_speculation_create(&s, &none, &cmd, &seq, LMD_LEN(v), NULL), LMD_OK);
	for (uint32_t n = 8; n < 100 && !first; n++)
		first = lmi_engine_speculation_guess(s, v, n, 7, &times, &want) ? n : 0;
	ck_assert(first >= 20 && first < 30);
	lmi_engine_speculation_destroy(s);
}
END_TEST

/* Plays a generation on a device that goes on by itself unless something is guessed, which hides host_ns
 * of each step. From `from` on, the tokens repeat; before, they are random. Returns how many of the n
 * tokens came in a step with guesses. */
static uint32_t play_chained(double host_ns, uint32_t from, uint32_t n, uint64_t *rnd)
{
	static const struct prices prices = {1, 100};
	static lmd_token v[4000];
	const struct lmi_engine_generate cmd = {.draft = LMI_ENGINE_DRAFT_LOOKUP, .n_draft = 7};
	const struct lmi_engine_input_seq seq = {0};
	const struct lmi_engine_step_times times = {
		.n_row = 1, .now_ns = price(&prices, 1), .ns = price, .arg = &prices, .host_ns = host_ns};
	struct lmi_engine_draft_want want;
	struct lmi_engine_speculation *s;
	const struct lmi_engine_draft_sources none = {0};
	uint32_t n_guessed = 0;
	bool chained = false;

	for (uint32_t i = 0; i < n; i++)
		v[i] = i < from ? (lmd_token)below(rnd, 4) : (lmd_token)(i % 5);
	ck_assert_int_eq(lmi_engine_speculation_create(&s, &none, &cmd, &seq, LMD_LEN(v), NULL),
			 LMD_OK);
	for (uint32_t at = 4; at < n;) {
		lmd_token coming[8];
		uint32_t k = 0, ok = 0;

		memcpy(coming, v + at, sizeof(coming));
		if (chained)
			lmi_engine_speculation_watch(s, v, at, 7, &times);
		else
			k = lmi_engine_speculation_guess(s, v, at, 7, &times, &want);
		while (ok < k && v[at + ok] == coming[ok])
			ok++;
		lmi_engine_speculation_learn(s, k, ok, false);
		memcpy(v + at, coming, sizeof(coming));
		chained = lmi_engine_speculation_rests(s);
		ck_assert(!k || !chained);
		n_guessed += k ? ok + 1 : 0;
		at += ok + 1;
	}
	lmi_engine_speculation_destroy(s);
	return n_guessed;
}

/* The device goes on by itself as long as guesses are wrong, or are worth less than what it hides;
 * guessing begins again when they would have been right. */
START_TEST(guesses_or_chains)
{
	uint64_t rnd = lmd_seed("speculate chains", 4);

	/* random tokens, a quarter of the guesses are right: that pays if they cost nothing else */
	ck_assert_uint_gt(play_chained(0, 1900, 1900, &rnd), 1000);
	/* but not if a step with them takes twice as long */
	ck_assert_uint_lt(play_chained(100, 1900, 1900, &rnd), 200);
	/* unless the last 900 repeat */
	ck_assert_uint_gt(play_chained(100, 1000, 1900, &rnd), 700);
	/* eight tokens in the time of eleven do not pay either */
	ck_assert_uint_lt(play_chained(1000, 1000, 1900, &rnd), 100);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("speculate");
	TCase *answers = lmd_part(s, "answers", setup, teardown);
	TCase *grammars = lmd_part(s, "grammars", setup, teardown);
	TCase *t = lmd_part(s, "rest", setup, teardown);

	tcase_add_loop_test(answers, the_answers_are_the_same, 0, LMD_LEN(machines));
	tcase_add_loop_test(grammars, grammars_hold, 0, 6);
	tcase_add_test(t, right_guesses_save_steps);
	tcase_add_test(t, a_draft_model);
	tcase_add_test(t, draft_models_that_do_not_fit);
	tcase_add_loop_test(t, cancelled_while_guessing, 0, 2);
	tcase_add_test(t, lookup);
	tcase_add_test(t, the_length_follows_what_pays);
	tcase_add_test(t, guesses_wait_for_a_measured_step);
	tcase_add_test(t, guesses_or_chains);
	return lmd_check_run(srunner_create(s));
}
