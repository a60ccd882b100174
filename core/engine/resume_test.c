/* SPDX-License-Identifier: MIT
 *
 * Generations that go on where an earlier run stopped. The law: whatever the number of tokens that
 * the earlier run took, the rest has the tokens, the text, the log probabilities and the end of a
 * run that was not disturbed. The same holds for those that were paused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/constrain.h"
#include "tests/generation_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

#define N_OUT 24
#define TEXT(s) {.ptr = s, .len = sizeof(s) - 1}

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "resume");
}

static void teardown(void)
{
	story_env_fini(&env);
}

static const struct lmi_sampler_arg penalty[] = {
	{.name = "repeat", .type = LMD_PARAM_FLOAT, .v = {.f = 1.4}},
	{.name = "freq", .type = LMD_PARAM_FLOAT, .v = {.f = 0.3}}};
static const struct lmi_sampler_arg again[] = {
	{.name = "multiplier", .type = LMD_PARAM_FLOAT, .v = {.f = 2.0}}};
static const struct lmi_sampler_arg warm[] = {
	{.name = "t", .type = LMD_PARAM_FLOAT, .v = {.f = 1.3}}};
static const struct lmi_sampler_spec greedy[] = {{.name = "greedy"}};
static const struct lmi_sampler_spec random_chain[] = {
	{.name = "penalties", .args = penalty, .n_args = LMD_LEN(penalty)},
	{.name = "dry", .args = again, .n_args = LMD_LEN(again)},
	{.name = "top_k"},
	{.name = "xtc"},
	{.name = "temp", .args = warm, .n_args = LMD_LEN(warm)},
	{.name = "dist"}};

#define RANDOM .specs = random_chain, .n_specs = LMD_LEN(random_chain), .n_predict = N_OUT

static const struct law {
	const char *name;
	const struct lmi_sampler_spec *specs;
	uint32_t n_specs;
	int64_t n_predict;
	uint32_t n_ctx; /* 0: the fixture's */
	uint32_t n_logprobs, n_min, n_draft;
	struct lmd_str stop, gbnf;
	enum lmi_engine_jump jump;
	bool heal;
} laws[] = {
	{.name = "greedy", .specs = greedy, .n_specs = 1, .n_predict = N_OUT},
	{.name = "random", RANDOM},
	{.name = "logprobs", RANDOM, .n_logprobs = 4},
	{.name = "full context", .specs = greedy, .n_specs = 1, .n_predict = -1, .n_ctx = 20},
	{.name = "guesses", .specs = greedy, .n_specs = 1, .n_predict = N_OUT, .n_draft = 8},
	{.name = "grammar", RANDOM,
	 .gbnf = TEXT("root ::= (\"abcd\" [efg] | \"xyz\"){2,4} \".\"")},
	{.name = "grammar, text", RANDOM,
	 .gbnf = TEXT("root ::= (\"abcdefgh\" [efg]){2,4} \".\""), .jump = LMI_ENGINE_JUMP_TEXT},
	{.name = "grammar, no jumps", RANDOM, .n_logprobs = 2,
	 .gbnf = TEXT("root ::= (\"abcd\" [efg]){2,4} \".\""), .jump = LMI_ENGINE_JUMP_OFF},
	{.name = "healing", RANDOM, .heal = true},
	{.name = "stop text", .specs = greedy, .n_specs = 1, .n_predict = N_OUT,
	 .stop = TEXT("set by the test")},
	{.name = "least length", RANDOM, .n_min = 20},
};

/* A run, with how much of its text there was after each of its tokens. */
struct run {
	struct story s;
	uint32_t text_at[512 + 1], logprobs_at[512 + 1];
};

/* Another generation takes the memory of the paused one, which has no event meanwhile. */
static void disturb(struct lmi_engine *e)
{
	struct lmi_engine_generate cmd;
	struct lmi_engine_event ev = {0};
	lmd_token v[200];

	for (uint32_t i = 0; i < LMD_LEN(v); i++)
		v[i] = (lmd_token)(3 + i * i % 90);
	cmd = story_command(2, v, LMD_LEN(v), 3);
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
	for (bool ends = false; !ends;) {
		(void)lmi_engine_step(e);
		while (lmi_engine_poll(e, &ev)) {
			ck_assert_uint_eq(ev.id, 2);
			ends |= ev.kind == LMI_ENGINE_EV_DONE;
			lmi_engine_event_release(&ev);
		}
	}
}

#define NEVER UINT32_MAX

/* When a run is paused: after so many tokens, or never; and whether others take its memory then. */
struct pause {
	uint32_t at;
	bool disturb;
};

static void go(struct lmi_engine *e, const struct lmi_engine_generate *cmd, struct pause pause,
	       struct run *out)
{
	struct lmi_engine_event ev;
	struct lmd_error err;

	*out = (struct run){0};
	ck_assert_msg(lmi_engine_generate(e, cmd, &err) == LMD_OK, "%s", err.text);
	while (!out->s.n_final) {
		if (out->s.n_tokens >= pause.at) {
			pause.at = NEVER;
			ck_assert_int_eq(lmi_engine_pause(e, cmd->id, true), LMD_OK);
			while (lmi_engine_step(e) == LMI_ENGINE_STEP_RAN)
				;
			while (lmi_engine_poll(e, &ev)) { /* of steps that ran already */
				story_tell(&out->s, &ev);
				lmi_engine_event_release(&ev);
			}
			if (pause.disturb && !out->s.n_final)
				disturb(e);
			ck_assert_int_eq(lmi_engine_pause(e, cmd->id, false), LMD_OK);
			if (out->s.n_final)
				break;
		}
		(void)lmi_engine_step(e);
		while (lmi_engine_poll(e, &ev)) {
			story_tell(&out->s, &ev);
			out->text_at[out->s.n_tokens] = out->s.n_text;
			if (ev.kind == LMI_ENGINE_EV_TOKEN) /* its log probabilities precede it */
				out->logprobs_at[out->s.n_tokens] = out->s.n_logprobs;
			lmi_engine_event_release(&ev);
		}
	}
}

static void run(struct lmi_engine *e, const struct law *law, const struct lmd_str *stop,
		const lmd_token *resumed, uint32_t n, struct pause pause, struct run *out)
{
	struct lmi_engine_generate cmd = story_command(1, hello, LMD_LEN(hello), law->n_predict);
	const struct lmi_engine_constrain_opts c = {.grammar = {.gbnf = law->gbnf},
						    .prompt = hello,
						    .n_prompt = LMD_LEN(hello),
						    .jump = law->jump,
						    .heal = law->heal,
						    .resumed = resumed,
						    .n_resumed = n};
	size_t n_prompt = LMD_LEN(hello);
	struct lmd_error err;

	cmd.specs = law->specs;
	cmd.n_specs = law->n_specs;
	cmd.seed = 42;
	cmd.n_logprobs = law->n_logprobs;
	cmd.n_min = law->n_min;
	cmd.flags |= LMI_ENGINE_GEN_RESUMABLE;
	cmd.resumed = resumed;
	cmd.n_resumed = n;
	if (law->n_draft) {
		cmd.draft = LMI_ENGINE_DRAFT_LOOKUP;
		cmd.n_draft = law->n_draft;
		cmd.flags |= LMI_ENGINE_GEN_DRAFT_ALWAYS;
	}
	if (stop->len) {
		cmd.stops = stop;
		cmd.n_stops = 1;
	}
	ck_assert_msg(lmi_engine_constrain(e, &c, &cmd.constraint, &n_prompt, &err) == LMD_OK,
		      "%s: %s", law->name, err.text);
	cmd.seq.n_tokens = (uint32_t)n_prompt;
	go(e, &cmd, pause, out);
}

static void compare(const struct law *law, const struct run *whole, const struct run *rest,
		    uint32_t n)
{
	const struct story *w = &whole->s, *r = &rest->s;
	uint32_t at = whole->text_at[n], l = whole->logprobs_at[n];

	ck_assert_msg(r->end == w->end, "%s: end %d after %u", law->name, r->end, n);
	ck_assert_msg(n + r->n_tokens == w->n_tokens &&
			      !memcmp(w->tokens + n, r->tokens, r->n_tokens * sizeof(lmd_token)),
		      "%s: other tokens after %u", law->name, n);
	ck_assert_msg(at + r->n_text == w->n_text && !memcmp(w->text + at, r->text, r->n_text),
		      "%s: after %u of %u tokens '%s', not '%s'", law->name, n, w->n_tokens, r->text,
		      w->text + at);
	ck_assert_uint_eq(l + r->n_logprobs, w->n_logprobs);
	for (uint32_t i = 0; i < r->n_logprobs; i++)
		ck_assert(!memcmp(w->logprobs[l + i].v, r->logprobs[i].v,
				  r->logprobs[i].n * sizeof(r->logprobs[i].v[0])));
	ck_assert_int_eq(r->last.u.done.finish, w->last.u.done.finish);
	ck_assert_uint_eq(r->last.u.done.n_prompt, w->last.u.done.n_prompt);
	ck_assert_uint_eq(r->last.u.done.n_out, w->last.u.done.n_out);
	ck_assert_msg(r->last.u.done.n_forced == w->last.u.done.n_forced, "%s: %u forced, not %u",
		      law->name, r->last.u.done.n_forced, w->last.u.done.n_forced);
}

static const struct pause undisturbed = {.at = NEVER};

/* _i: the law */
START_TEST(resumed_is_undisturbed)
{
	const struct law *law = &laws[_i];
	static struct run whole, rest;
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmd_str stop = {0};
	struct lmi_engine *e;
	char text[8];

	if (law->n_ctx)
		o.inst.n_ctx = law->n_ctx;
	e = story_engine(&o);
	run(e, law, &stop, NULL, 0, undisturbed, &whole);
	ck_assert_uint_gt(whole.s.n_tokens, 4);
	if (law->stop.len) { /* stop at what the model says, across tokens */
		memcpy(text, whole.s.text + whole.s.n_text / 2, 4);
		stop = (struct lmd_str){.ptr = text, .len = 4};
		run(e, law, &stop, NULL, 0, undisturbed, &whole);
		ck_assert_int_eq(whole.s.last.u.done.finish, LMI_ENGINE_FINISH_STOP);
	}
	for (uint32_t n = 0; n <= whole.s.n_tokens; n++) {
		run(e, law, &stop, whole.s.tokens, n, undisturbed, &rest);
		compare(law, &whole, &rest, n);
	}
	lmi_engine_fini(e);
}
END_TEST

/* A generation that is paused after any of its tokens has the answer of one that is not. Without others its
 * rows stay; otherwise they are computed again. _i: the law, on ref and on a device with queues */
START_TEST(paused_is_undisturbed)
{
	const struct law *law = &laws[(size_t)_i % LMD_LEN(laws)];
	static struct run whole, paused;
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmd_str stop = {0};
	struct lmi_engine *e;
	uint64_t n_row, n_more;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=3", 1), 0);
	if (_i >= (int)LMD_LEN(laws))
		o.inst.device_list = "emu0";
	if (law->n_ctx)
		o.inst.n_ctx = law->n_ctx;
	o.inst.kv_tokens = 256;
	e = story_engine(&o);
	run(e, law, &stop, NULL, 0, undisturbed, &whole);
	n_row = story_check_idle(e).n_row;
	run(e, law, &stop, NULL, 0, undisturbed, &whole);
	n_row = story_check_idle(e).n_row - n_row;
	for (uint32_t at = 0; at <= whole.s.n_tokens; at += 3)
		for (int k = 0; k < 2; k++) {
			struct pause pause = {.at = at, .disturb = k && !law->n_ctx};

			n_more = story_check_idle(e).n_row;
			run(e, law, &stop, NULL, 0, pause, &paused);
			compare(law, &whole, &paused, 0);
			n_more = story_check_idle(e).n_row - n_more;
			/* the prompt is found in the cache */
			if (!k && at && !law->n_draft)
				ck_assert_msg(n_more <= n_row + 1, "%s: %u rows, not %u", law->name,
					      (unsigned)n_more, (unsigned)n_row);
			ck_assert_uint_eq(paused.s.n_logprobs, whole.s.n_logprobs);
		}
	lmi_engine_fini(e);
}
END_TEST

/* A paused generation can be cancelled, resumed in vain, and left behind by its engine. */
START_TEST(paused_ends)
{
	struct lmi_engine_opts o = story_opts(&env, 2);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(7, hello, LMD_LEN(hello), N_OUT);
	struct lmi_engine_event ev;
	uint32_t n = 0, n_event = 0;

	ck_assert_int_eq(lmi_engine_pause(e, 7, true), LMD_OK); /* it does not exist yet */
	(void)lmi_engine_step(e);
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(lmi_engine_generate(e, &cmd, NULL), LMD_OK);
		for (int i = 0; i < 5; i++)
			(void)lmi_engine_step(e);
		for (int i = 0; i < 1 + round; i++) /* once more changes nothing */
			ck_assert_int_eq(lmi_engine_pause(e, 7, true), LMD_OK);
		while (lmi_engine_step(e) == LMI_ENGINE_STEP_RAN)
			;
		(void)story_check_idle(e);
		while (lmi_engine_poll(e, &ev))
			n_event++;
		(void)lmi_engine_step(e);
		ck_assert(!lmi_engine_poll(e, &ev));
		if (round == 2)
			break;
		if (round)
			ck_assert_int_eq(lmi_engine_pause(e, 7, false), LMD_OK);
		ck_assert_int_eq(lmi_engine_cancel(e, 7), LMD_OK);
		(void)lmi_engine_step(e);
		while (lmi_engine_poll(e, &ev))
			n += ev.kind == LMI_ENGINE_EV_CANCELLED;
		ck_assert_uint_eq(n, (uint32_t)round + 1);
		(void)story_check_idle(e);
	}
	ck_assert_uint_gt(n_event, 6);
	lmi_engine_fini(e);
}
END_TEST

/* What cannot be resumed says so at the beginning. */
START_TEST(refused)
{
	static const struct lmi_sampler_spec learns[] = {{.name = "mirostat_v2"}};
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, LMD_LEN(hello), N_OUT);
	const lmd_token v[N_OUT + 2] = {0};
	struct lmd_error err;

	cmd.flags |= LMI_ENGINE_GEN_RESUMABLE;
	cmd.shift = true;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "context_shift"));
	/* tokens that were resumed would count as part of a prompt that is kept whole */
	cmd.flags &= ~LMI_ENGINE_GEN_RESUMABLE;
	cmd.n_keep = -1;
	cmd.resumed = v;
	cmd.n_resumed = 1;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "context_shift"));
	cmd.flags |= LMI_ENGINE_GEN_RESUMABLE;
	cmd.n_resumed = 0;
	cmd.shift = false;
	cmd.specs = learns;
	cmd.n_specs = 1;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "sampler mirostat_v2 learns"));
	cmd.specs = greedy;
	cmd.resumed = v;
	cmd.n_resumed = N_OUT + 2;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_INVALID);
	cmd.n_resumed = N_OUT + 1;
	ck_assert_int_eq(lmi_engine_generate(e, &cmd, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "the answer ended after 24"));
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("resume");
	TCase *t = tcase_create("resume");

	tcase_set_timeout(t, 300);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, resumed_is_undisturbed, 0, LMD_LEN(laws));
	tcase_add_loop_test(t, paused_is_undisturbed, 0, 2 * (int)LMD_LEN(laws));
	tcase_add_test(t, paused_ends);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
