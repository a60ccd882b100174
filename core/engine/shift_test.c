/* SPDX-License-Identifier: MIT
 *
 * Context shift: what an answer goes on with when its context is full. The law: after a shift it has
 * the tokens and the log probabilities, bit for bit, of a request that began with what was left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/constrain.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_CTX	 32
#define N_PROMPT 20
#define N_OUT	 60

static struct story_env env;
static const char *paths[LMT_N_TINY];

static void setup(void)
{
	story_env_init(&env, "shift");
	for (int k = 0; k < LMT_N_TINY; k++)
		paths[k] = story_model(&env, (enum lmt_tiny)k);
}

static void teardown(void)
{
	story_env_fini(&env);
}

/* What the tokens of a full context become when one more follows: written from the description. */
static uint32_t shifted(lmd_token *v, uint32_t n, uint32_t keep, uint32_t discard, lmd_token next)
{
	uint32_t left = n - keep, drop = discard ? discard : left / 2;

	drop = drop < left ? drop : left;
	for (uint32_t i = keep; i + drop < n; i++)
		v[i] = v[i + drop];
	v[n - drop] = next;
	return n - drop + 1;
}

/* Compares an answer with requests that begin with what each shift leaves. keep: in tokens. */
static uint32_t check_law(struct lmi_engine *plain, const struct story *got,
			  const struct lmi_engine_generate *cmd, uint32_t keep, const char *what)
{
	uint32_t n = cmd->seq.n_tokens, done = 0, n_shift = 0;
	lmd_token v[N_CTX + 1];

	memcpy(v, cmd->seq.tokens, n * sizeof(v[0]));
	while (done < got->n_tokens) {
		struct lmi_engine_generate one = story_command(1, v, n, N_CTX - n + 1);
		uint32_t left = got->n_tokens - done;
		struct story want;

		one.n_logprobs = cmd->n_logprobs;
		one.n_predict = left < N_CTX - n + 1 ? left : N_CTX - n + 1;
		want = story_generate(plain, &one);
		ck_assert_uint_eq(want.n_tokens, one.n_predict);
		ck_assert_msg(!memcmp(want.tokens, got->tokens + done,
				      want.n_tokens * sizeof(v[0])),
			      "%s: other tokens after %u shifts", what, n_shift);
		for (uint32_t i = 0; i < want.n_logprobs; i++)
			ck_assert_msg(!memcmp(want.logprobs[i].v, got->logprobs[done + i].v,
					      want.logprobs[i].n * sizeof(want.logprobs[i].v[0])),
				      "%s: other bits after %u shifts, token %u", what, n_shift, i);
		done += want.n_tokens;
		if (done == got->n_tokens)
			break;
		memcpy(v + n, want.tokens, (want.n_tokens - 1) * sizeof(v[0]));
		n = shifted(v, N_CTX, keep, cmd->n_discard, want.tokens[want.n_tokens - 1]);
		n_shift++;
	}
	return n_shift;
}

static struct lmi_engine *engine(int kind, const char *backend, bool caches)
{
	struct lmi_engine_opts o = story_opts(&env, 3);

	o.inst.path = paths[kind];
	o.inst.backend = backend;
	o.inst.n_ctx = N_CTX;
	o.inst.n_batch = 16;
	o.inst.no_prefix_cache = !caches;
	return story_engine(&o);
}

/* _i: kind of model, and backend */
START_TEST(shifted_is_begun_with_what_is_left)
{
	static const char *const backends[] = {"ref", "cpu", "emu"};
	static const struct {
		int64_t n_keep;
		uint32_t n_discard, keep;
	} cases[] = {{0, 0, 0},  {4, 0, 4},   {-1, 0, N_PROMPT}, {1000, 0, N_CTX - 4},
		     {5, 1, 5}, {7, 1000, 7}, {0, 1000, 0}};
	int kind = _i % LMT_N_TINY;
	const char *backend = backends[_i / LMT_N_TINY];
	struct lmi_engine *e, *plain;
	uint64_t rnd = lmd_seed("shift law", 3) + (uint64_t)_i;
	lmd_token v[N_PROMPT];

	ck_assert_int_eq(setenv("LLAMAD_EMU", "", 1), 0);
	e = engine(kind, backend, true);
	plain = engine(kind, backend, false);
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_engine_generate cmd = story_command(1, v, N_PROMPT, N_OUT);
		char what[64];
		struct story s;
		uint32_t n;

		story_random_tokens(v, N_PROMPT, &rnd);
		cmd.shift = true;
		cmd.n_keep = cases[i].n_keep;
		cmd.n_discard = cases[i].n_discard;
		cmd.n_logprobs = 3;
		v[0] = 3; /* no BOS token */
		s = story_generate(e, &cmd);
		snprintf(what, sizeof(what), "%s on %s, case %zu", lmt_tiny_name((enum lmt_tiny)kind),
			 backend, i);
		ck_assert_int_eq(s.end, LMI_ENGINE_EV_DONE);
		ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_LENGTH);
		ck_assert_uint_eq(s.n_tokens, N_OUT);
		n = check_law(plain, &s, &cmd, cases[i].keep, what);
		ck_assert_uint_gt(n, 1);
		ck_assert_uint_eq(s.last.u.done.n_shift, n);
	}
	ck_assert_uint_eq(story_check_idle(e).step_allocs, 0);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Several answers at a time, which begin alike, with memory for two of them. */
START_TEST(answers_that_begin_alike)
{
	struct lmi_engine_opts o = story_opts(&env, 3);
	struct lmi_engine *e, *plain = engine(LMT_FULL, "ref", false);
	struct lmi_engine_generate cmd[3];
	struct story s[3] = {0};
	uint64_t rnd = env.seed;
	lmd_token v[N_PROMPT];

	o.inst.n_ctx = N_CTX;
	o.inst.path = paths[LMT_FULL];
	o.inst.kv_tokens = 2 * N_CTX;
	e = story_engine(&o);
	story_random_tokens(v, N_PROMPT, &rnd);
	for (uint32_t i = 0; i < 3; i++) {
		cmd[i] = story_command(i + 1, v, N_PROMPT, N_OUT - 7 * i);
		cmd[i].shift = true;
		cmd[i].n_keep = 3 * i;
		ck_assert_int_eq(lmi_engine_generate(e, &cmd[i], NULL), LMD_OK);
	}
	story_run(e, s, 3);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(check_law(plain, &s[i], &cmd[i], 3 * i, "together"),
				  s[i].last.u.done.n_shift);
	lmi_engine_fini(e);
	lmi_engine_fini(plain);
}
END_TEST

/* Nothing is dropped unless that was asked for. */
START_TEST(without_it_the_answer_ends)
{
	struct lmi_engine *e = engine(LMT_FULL, "ref", true);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, -1);
	struct story s = story_generate(e, &cmd);

	ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_CONTEXT);
	ck_assert_uint_eq(s.n_tokens, N_CTX - 5 + 1);
	ck_assert_uint_eq(s.last.u.done.n_shift, 0);
	lmi_engine_fini(e);
}
END_TEST

/* Guesses refer to what the sequence was. */
START_TEST(guesses_change_nothing)
{
	struct lmi_engine *e = engine(LMT_FULL, "ref", true);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 200);
	struct story want, got;

	cmd.shift = true;
	cmd.n_keep = 2;
	want = story_generate(e, &cmd);
	cmd.draft = LMI_ENGINE_DRAFT_LOOKUP;
	cmd.n_draft = LMI_ENGINE_DRAFT_MAX;
	cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	got = story_generate(e, &cmd);
	ck_assert_str_eq(got.text, want.text);
	ck_assert_uint_eq(got.last.u.done.n_shift, want.last.u.done.n_shift);
	ck_assert_uint_gt(got.last.u.done.n_accepted, 0);
	ck_assert_uint_gt(want.last.u.done.n_shift, 5);
	lmi_engine_fini(e);
}
END_TEST

/* Text that a grammar forces fills the context as well. _i: how it is appended */
START_TEST(forced_text)
{
	static const enum lmi_engine_jump jumps[] = {LMI_ENGINE_JUMP_OFF, LMI_ENGINE_JUMP_TOKEN,
						     LMI_ENGINE_JUMP_TEXT};
	static const char form[] = "root ::= (\"abcdefghijk\" [lmno]){20}";
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e;

	o.inst.n_ctx = N_CTX;
	e = story_engine(&o);
	for (uint32_t n_prompt = 1; n_prompt <= 5; n_prompt++) {
		struct lmi_engine_generate cmd = story_command(1, hello, n_prompt, 140);
		struct lmi_engine_constrain_opts c = {
			.grammar = {.gbnf = {.ptr = form, .len = strlen(form)}},
			.prompt = hello,
			.n_prompt = n_prompt,
			.jump = jumps[_i]};
		size_t n = n_prompt;
		struct lmd_error err;
		struct story s;

		ck_assert_msg(lmi_engine_constrain(e, &c, &cmd.constraint, &n, &err) == LMD_OK,
			      "%s", err.text);
		cmd.shift = true;
		s = story_generate(e, &cmd);
		ck_assert_int_eq(s.last.u.done.finish, LMI_ENGINE_FINISH_LENGTH);
		ck_assert_uint_eq(s.n_text, 140);
		ck_assert_uint_ge(s.last.u.done.n_shift, 7);
		for (uint32_t i = 0; i < s.n_text; i++)
			ck_assert(i % 12 == 11 ? s.text[i] >= 'l' && s.text[i] <= 'o'
					       : s.text[i] == 'a' + (int)(i % 12));
	}
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("context shift");
	TCase *t = tcase_create("context shift");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, shifted_is_begun_with_what_is_left, 0, 3 * LMT_N_TINY);
	tcase_add_test(t, answers_that_begin_alike);
	tcase_add_test(t, without_it_the_answer_ends);
	tcase_add_test(t, guesses_change_nothing);
	tcase_add_loop_test(t, forced_text, 0, 3);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
