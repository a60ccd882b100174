/* SPDX-License-Identifier: MIT
 *
 * Answers with constraints: jump-forward decoding changes no answer and saves steps, prompts are
 * healed, grammars are compiled once. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/constrain_impl.h"
#include "core/engine/sample.h"
#include "core/text/tokenizer.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"
#include "tests/tiny_model.h"

static struct lmt_env env;
static char path[256];

static void setup(void)
{
	struct lmd_error err;

	ck_assert_msg(lmt_env_init(&env, &err) == LMD_OK, "%s", err.text);
	snprintf(path, sizeof(path), "%s/core/engine/constrain.%d.gguf", lmd_build_dir(),
		 (int)getpid());
	lmt_tiny_write(LMT_WORDS, lmd_seed("constrain", 7), path);
}

static void teardown(void)
{
	(void)remove(path);
	lmt_env_fini(&env);
}

static struct lmi_engine *open_engine(uint32_t n_seq, uint32_t n_event)
{
	struct lmi_engine_opts o = lmt_opts(&env, path);
	struct lmi_engine *e = NULL;
	struct lmd_error err;

	o.no_tokenizer = false;
	o.inst.n_seq = n_seq;
	o.n_event = n_event;
	ck_assert_msg(lmi_engine_open(&e, &o, &err) == LMD_OK, "%s", err.text);
	return e;
}

/* ---- an answer ---- */

struct ask {
	const char *prompt, *gbnf, *schema, *trigger, *stop;
	enum lmi_engine_jump jump;
	bool heal;
	int64_t n_predict; /* 0: 100 */
	const struct lmi_sampler_spec *specs;
	uint32_t n_specs;
	uint32_t flags;
};

struct answer {
	char text[2048];
	lmd_token tokens[256];
	uint32_t n_text, n_tokens, n_step;
	struct lmi_engine_event last;
};

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = s ? strlen(s) : 0};
}

static const struct lmi_sampler_spec greedy = {.name = "greedy"};

static void send(struct lmi_engine *e, uint64_t id, const struct ask *a)
{
	struct lmd_str trigger = str(a->trigger), stop = str(a->stop);
	struct lmi_engine_constrain_opts o = {.grammar = {.gbnf = str(a->gbnf),
							  .schema = str(a->schema),
							  .triggers = &trigger,
							  .n_triggers = a->trigger != NULL},
					      .jump = a->jump,
					      .heal = a->heal};
	struct lmi_engine_generate cmd = {.id = id,
					  .n_predict = a->n_predict ? a->n_predict : 100,
					  .specs = a->specs ? a->specs : &greedy,
					  .n_specs = a->specs ? a->n_specs : 1,
					  .seed = 3,
					  .stops = &stop,
					  .n_stops = a->stop != NULL,
					  .flags = a->flags};
	struct lmi_text_token_buf t = {0};
	struct lmd_error err;

	ck_assert(lmi_tokenizer_encode(lmi_engine_tokenizer(e), a->prompt, strlen(a->prompt), 0, &t,
				       &err) == LMD_OK);
	o.prompt = t.id;
	o.n_prompt = t.n;
	ck_assert_msg(lmi_engine_constrain(e, &o, &cmd.constraint, &t.n, &err) == LMD_OK, "%s",
		      err.text);
	cmd.seq = lmt_tokens(t.id, (uint32_t)t.n);
	ck_assert_msg(lmi_engine_generate(e, &cmd, &err) == LMD_OK, "%s", err.text);
	lmi_text_token_buf_fini(&t);
}

static void tell(struct answer *a, const struct lmi_engine_event *ev)
{
	if (ev->kind == LMI_ENGINE_EV_TOKEN)
		a->tokens[a->n_tokens++] = ev->u.text.token;
	if (ev->kind == LMI_ENGINE_EV_TOKEN || ev->kind == LMI_ENGINE_EV_TEXT) {
		memcpy(a->text + a->n_text, ev->u.text.bytes, ev->u.text.n);
		a->n_text += ev->u.text.n;
		return;
	}
	a->last = *ev;
}

static struct answer ask(struct lmi_engine *e, const struct ask *q)
{
	static uint64_t id; /* unique in the test program */
	struct answer a = {0};
	struct lmi_engine_stats before, after;
	struct lmi_engine_event ev;

	lmi_engine_stats(e, &before);
	send(e, ++id, q);
	while (lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE || lmi_engine_poll(e, &ev))
		while (lmi_engine_poll(e, &ev))
			tell(&a, &ev);
	lmi_engine_stats(e, &after);
	a.n_step = (uint32_t)(after.n_step - before.n_step);
	return a;
}

static void same(const struct answer *a, const struct answer *b)
{
	ck_assert_str_eq(a->text, b->text);
	ck_assert_uint_eq(a->n_tokens, b->n_tokens);
	ck_assert_mem_eq(a->tokens, b->tokens, a->n_tokens * sizeof(a->tokens[0]));
	ck_assert_int_eq(a->last.kind, b->last.kind);
	if (a->last.kind != LMI_ENGINE_EV_DONE)
		return;
	ck_assert_int_eq(a->last.u.done.finish, b->last.u.done.finish);
	ck_assert_uint_eq(a->last.u.done.n_out, b->last.u.done.n_out);
}

/* ---- jumps ---- */

static const char schema[] =
	"{\"type\": \"object\", \"properties\": {\"city\": {\"enum\": [\"ab\", \"cd\"]}, "
	"\"degrees\": {\"type\": \"integer\", \"minimum\": 10, \"maximum\": 99}, "
	"\"is_raining\": {\"type\": \"boolean\"}}, \"required\": [\"city\", \"degrees\", "
	"\"is_raining\"], \"additionalProperties\": false}";
static const char form[] =
	"root ::= \"name: \" [a-z]{3} \"; kind: \" (\"old\" | \"olive\") \"; done\"";

static const struct lmi_sampler_arg tau = {.name = "tau", .type = LMD_PARAM_FLOAT, .v.f = 3};
static const struct lmi_sampler_arg temp = {.name = "t", .type = LMD_PARAM_FLOAT, .v.f = 1.5};
static const struct lmi_sampler_arg repeat = {
	.name = "repeat", .type = LMD_PARAM_FLOAT, .v.f = 1.3};
static const struct lmi_sampler_spec mirostat[] = {
	{.name = "temp", .args = &temp, .n_args = 1},
	{.name = "mirostat_v2", .args = &tau, .n_args = 1},
};
static const struct lmi_sampler_spec drawn[] = {
	{.name = "penalties", .args = &repeat, .n_args = 1},
	{.name = "temp", .args = &temp, .n_args = 1},
	{.name = "dist"},
};

static void compare_jumps(struct lmi_engine *e, struct ask q, bool saves)
{
	struct answer off, token;

	q.jump = LMI_ENGINE_JUMP_OFF;
	off = ask(e, &q);
	ck_assert_int_eq(off.last.kind, LMI_ENGINE_EV_DONE);
	ck_assert_uint_eq(off.last.u.done.n_forced, 0);
	q.jump = LMI_ENGINE_JUMP_TOKEN;
	token = ask(e, &q);
	same(&off, &token);
	ck_assert_uint_eq(off.n_step - token.n_step, token.last.u.done.n_forced);
	ck_assert_msg(!saves || token.n_step < off.n_step, "%u steps, %u before", token.n_step,
		      off.n_step);
}

START_TEST(a_jump_changes_no_answer)
{
	struct lmi_engine *e = open_engine(1, 0);
	const struct ask cases[] = {
		{.prompt = "ab", .schema = schema},
		{.prompt = "ab", .gbnf = form},
		{.prompt = "xy", .gbnf = form, .specs = mirostat, .n_specs = 2},
		{.prompt = "xy", .schema = schema, .specs = mirostat, .n_specs = 2},
		{.prompt = "xy", .gbnf = form, .specs = drawn, .n_specs = 3},
		{.prompt = "ab", .gbnf = form, .stop = "kind"},
		{.prompt = "ab", .gbnf = form, .n_predict = 3},
		{.prompt = "ab", .gbnf = form, .n_predict = 13},
		{.prompt = "ab", .gbnf = form, .flags = LMI_ENGINE_GEN_IGNORE_EOG},
		{.prompt = "ab", .gbnf = form, .flags = LMI_ENGINE_GEN_SPECIAL},
		{.prompt = "ab", .gbnf = "root ::= \"x\" root", .n_predict = 90},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++)
		compare_jumps(e, cases[i], true);
	LMD_CASES("constraints", LMD_LEN(cases), 0, 0);
	lmi_engine_fini(e);
}
END_TEST

/* The context ends in the middle of the forced text. */
START_TEST(a_jump_ends_with_the_context)
{
	struct lmi_engine *e = open_engine(1, 0);
	struct ask q = {.prompt = "ab", .gbnf = "root ::= \"x\" root", .n_predict = -1};
	struct answer a = ask(e, &q);

	ck_assert_int_eq(a.last.u.done.finish, LMI_ENGINE_FINISH_CONTEXT);
	ck_assert_uint_eq(a.n_text, LMT_CTX - 2 + 1);
	ck_assert_uint_lt(a.n_step, 20);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(forced_text_is_taken_in_tokens)
{
	struct lmi_engine *e = open_engine(1, 0);
	struct ask q = {.prompt = "ab",
			.gbnf = "root ::= \"say: hello world, \" [a-c]{2} \" hello\""};
	struct answer off, text;
	const struct lmi_tokenizer *tok = lmi_engine_tokenizer(e);
	struct lmi_text_token_buf t = {0};

	q.jump = LMI_ENGINE_JUMP_OFF;
	off = ask(e, &q);
	q.jump = LMI_ENGINE_JUMP_TEXT;
	text = ask(e, &q);
	ck_assert_uint_eq(text.n_text, off.n_text);
	ck_assert(!strncmp(text.text, "say: hello world, ", 18));
	ck_assert_str_eq(text.text + 20, " hello");
	/* the tokenizer's tokens, and an end token */
	ck_assert(lmi_tokenizer_encode(tok, text.text, text.n_text, 0, &t, NULL) == LMD_OK);
	ck_assert_uint_eq(text.n_tokens, t.n + 1);
	ck_assert_mem_eq(text.tokens, t.id, t.n * sizeof(t.id[0]));
	/* one step for the prompt, one for the space left to the model, two letters, and at most
	 * one more */
	ck_assert_msg(text.n_step <= 5, "%u steps", text.n_step);
	lmi_text_token_buf_fini(&t);
	lmi_engine_fini(e);
}
END_TEST

/* A token that may merge with what follows is left to the model. */
START_TEST(the_border_is_left_to_the_model)
{
	struct lmi_engine *e = open_engine(1, 0);
	struct ask q = {.prompt = "ab",
			.gbnf = "root ::= \"xhel\" (\"lo\" | \"p\" | \"l\") \"!\"",
			.jump = LMI_ENGINE_JUMP_TEXT,
			.n_predict = 2};
	struct answer a = ask(e, &q);

	/* only x is certain: after it hel, hell and hello are possible */
	ck_assert_int_eq(a.tokens[0], 'x' - 32);
	ck_assert_uint_eq(a.last.u.done.n_forced, 0); /* x came from the step of the prompt */
	lmi_engine_fini(e);
}
END_TEST

START_TEST(a_slow_reader_changes_nothing)
{
	struct lmi_engine *fast = open_engine(2, 0), *slow = open_engine(2, 1);
	static const enum lmi_engine_jump jumps[] = {LMI_ENGINE_JUMP_TOKEN, LMI_ENGINE_JUMP_TEXT};

	for (size_t i = 0; i < LMD_LEN(jumps); i++) {
		struct ask q = {.prompt = "ab", .gbnf = form, .jump = jumps[i]};
		struct answer want = ask(fast, &q), got = {0};
		struct lmi_engine_event ev;

		send(slow, 1000 + i, &q);
		while (!got.last.kind) {
			(void)lmi_engine_step(slow);
			if (lmi_engine_poll(slow, &ev))
				tell(&got, &ev);
		}
		same(&want, &got);
	}
	lmi_engine_fini(fast);
	lmi_engine_fini(slow);
}
END_TEST

START_TEST(many_at_a_time)
{
	struct lmi_engine *e = open_engine(3, 0);
	struct ask q[3] = {{.prompt = "ab", .gbnf = form},
			   {.prompt = "cde", .schema = schema},
			   {.prompt = "f", .gbnf = form, .jump = LMI_ENGINE_JUMP_TEXT}};
	struct answer want[3], got[3];
	struct lmi_engine_event ev;

	memset(got, 0, sizeof(got));
	for (int i = 0; i < 3; i++)
		want[i] = ask(e, &q[i]);
	for (int i = 0; i < 3; i++)
		send(e, 2000 + (uint64_t)i, &q[i]);
	while (lmi_engine_step(e) != LMI_ENGINE_STEP_IDLE || lmi_engine_poll(e, &ev))
		while (lmi_engine_poll(e, &ev))
			tell(&got[ev.id - 2000], &ev);
	for (int i = 0; i < 3; i++)
		same(&want[i], &got[i]);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(cancelled_between_jumps)
{
	struct lmi_engine *e = open_engine(1, 0);
	struct ask q = {.prompt = "ab", .gbnf = "root ::= \"abcdef\" [a-z] root", .n_predict = 200};
	struct answer a = {0};
	struct lmi_engine_event ev;

	send(e, 3000, &q);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_RAN);
	ck_assert_int_eq(lmi_engine_cancel(e, 3000), LMD_OK);
	(void)lmi_engine_step(e);
	while (lmi_engine_poll(e, &ev))
		tell(&a, &ev);
	ck_assert_int_eq(a.last.kind, LMI_ENGINE_EV_CANCELLED);
	ck_assert_uint_eq(a.last.u.done.n_out, a.n_tokens);
	ck_assert_int_eq(lmi_engine_step(e), LMI_ENGINE_STEP_IDLE);
	lmi_engine_fini(e);
}
END_TEST

/* ---- healing ---- */

/* Writes the text of an answer's tokens, which starts with the healed text. */
static size_t spelled(struct lmi_engine *e, const struct answer *a, char *out, size_t cap)
{
	size_t n = 0;

	for (uint32_t i = 0; i < a->n_tokens; i++)
		n += lmi_tokenizer_piece(lmi_engine_tokenizer(e), a->tokens[i], 0, out + n,
					 cap - n);
	out[n] = 0;
	return n;
}

static void heals(struct lmi_engine *e, const char *prompt, const char *back)
{
	struct ask q = {.prompt = prompt,
			.heal = true,
			.n_predict = 12,
			.flags = LMI_ENGINE_GEN_IGNORE_EOG};
	struct answer a = ask(e, &q);
	char text[2048];

	ck_assert_int_eq(a.last.kind, LMI_ENGINE_EV_DONE);
	ck_assert_uint_eq(a.n_tokens, 12);
	(void)spelled(e, &a, text, sizeof(text));
	ck_assert_msg(!strncmp(text, back, strlen(back)), "%s: %s", prompt, text);
	ck_assert_str_eq(text + strlen(back), a.text);
}

START_TEST(a_prompt_is_healed)
{
	struct lmi_engine *e = open_engine(1, 0);
	struct ask q = {.prompt = "say xyz", .n_predict = 12}, h;
	struct answer plain, healed;

	heals(e, "say he", "he");	/* hel, hell, hello */
	heals(e, "say hell", "hell");	/* hello */
	heals(e, "say hello ", " ");	/* " w" and longer ones */
	heals(e, "say hello wor", " wor");
	heals(e, "say h", "h");
	/* a token that starts no longer token stays, and so does the only token of a prompt */
	h = q;
	h.heal = true;
	plain = ask(e, &q);
	healed = ask(e, &h);
	same(&plain, &healed);
	q.prompt = h.prompt = "he";
	plain = ask(e, &q);
	healed = ask(e, &h);
	same(&plain, &healed);
	ck_assert_uint_eq(healed.last.u.done.n_prompt, 1);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(a_grammar_begins_behind_what_is_healed)
{
	struct lmi_engine *e = open_engine(1, 0);
	static const enum lmi_engine_jump jumps[] = {LMI_ENGINE_JUMP_OFF, LMI_ENGINE_JUMP_TOKEN,
						     LMI_ENGINE_JUMP_TEXT};

	for (size_t i = 0; i < LMD_LEN(jumps); i++) {
		struct ask q = {.prompt = "say hell",
				.gbnf = "root ::= \"o wor\" (\"ld\" | \"m\")",
				.heal = true,
				.jump = jumps[i]};
		struct answer a = ask(e, &q);
		char text[2048];

		ck_assert_int_eq(a.last.kind, LMI_ENGINE_EV_DONE);
		ck_assert_int_eq(a.last.u.done.finish, LMI_ENGINE_FINISH_EOG);
		ck_assert_msg(!strcmp(a.text, "o world") || !strcmp(a.text, "o worm"), "%s",
			      a.text);
		(void)spelled(e, &a, text, sizeof(text));
		ck_assert(!strncmp(text, "hello wor", 9));
	}
	lmi_engine_fini(e);
}
END_TEST

/* Neither a stop text nor a trigger sees the healed text. */
START_TEST(what_is_healed_is_no_part_of_the_answer)
{
	struct lmi_engine *e = open_engine(1, 0);
	struct ask q = {.prompt = "say hell", .gbnf = "root ::= \"o hell\" [a-z]{3}", .heal = true,
			.stop = "ell"};
	struct answer a = ask(e, &q);

	ck_assert_int_eq(a.last.u.done.finish, LMI_ENGINE_FINISH_STOP);
	ck_assert_str_eq(a.text, "o h");
	lmi_engine_fini(e);
}
END_TEST

/* ---- errors ---- */

START_TEST(refusals)
{
	struct lmi_engine *e = open_engine(1, 0);
	const lmd_token v[] = {1, 2};
	struct lmi_engine_constrain_opts o = {.prompt = v, .n_prompt = 2};
	struct lmi_engine_constraint *c = NULL;
	struct lmd_error err;
	size_t n = 0;

	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_OK);
	ck_assert(!c && n == 2); /* no constraint was requested */
	o.grammar.gbnf = str("root ::= ");
	o.grammar.schema = str("{}");
	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_INVALID);
	o.grammar.schema = str(NULL);
	o.grammar.gbnf = str("root ::= (");
	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_INVALID);
	ck_assert(!strncmp(err.text, "grammar: ", 9));
	o.grammar.gbnf = str(NULL);
	o.grammar.schema = str("{");
	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_INVALID);
	ck_assert(!strncmp(err.text, "json_schema: ", 13));
	o.grammar.schema = str(NULL);
	o.grammar.regex = str("(");
	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "regex: byte 1: expected ')'");
	o.grammar.regex = str(NULL);
	o.grammar.structural_tag = str("[]");
	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "structural_tag: a structural tag must be an object");
	o.grammar.regex = str("a");
	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_INVALID);
	ck_assert(!strncmp(err.text, "set only one of", 15));
	lmi_engine_fini(e);
}
END_TEST

/* The first mask, which is often the most expensive one, is not computed on the engine's thread. */
START_TEST(first_mask_is_ready)
{
	struct lmi_engine *e = open_engine(1, 0);
	const lmd_token v[] = {1, 2};
	struct lmi_engine_constrain_opts o = {
		.grammar.gbnf = str("root ::= [a-z]+ | \"1\" [0-9]{3,9}"), .prompt = v, .n_prompt = 2};
	struct lmi_engine_constraint *c = NULL;
	const struct lmi_engine_next_tokens *next;
	struct lmd_error err;
	uint64_t bytes;
	size_t n;

	ck_assert_int_eq(lmi_engine_constrain(e, &o, &c, &n, &err), LMD_OK);
	bytes = lmi_gr_matcher_bytes(c->lease.matcher);
	lmi_engine_constraint_look(c, v, 2, c->n_vocab);
	ck_assert(lmi_engine_constraint_find_cached(c));
	next = lmi_engine_constraint_next(c);
	ck_assert_int_eq(next->status, LMD_OK);
	ck_assert_ptr_nonnull(next->mask);
	ck_assert_uint_eq(lmi_gr_matcher_bytes(c->lease.matcher), bytes);
	lmi_engine_constraint_destroy(c);
	lmi_engine_fini(e);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	struct lmi_engine *e = open_engine(1, 0);
	const lmd_token v[] = {'x' - 32, '#' - 32};
	uint64_t nth = 0, n_failed = 0;
	bool failed;

	do {
		char text[64];
		struct lmi_engine_constrain_opts o = {.heal = true, .prompt = v, .n_prompt = 2};
		struct lmi_engine_constraint *c = NULL;
		struct lmd_error err = {0};
		enum lmd_status st;
		size_t n;

		/* a grammar that is not cached yet */
		snprintf(text, sizeof(text), "root ::= \"number %u\" [a-z]*", (unsigned)++nth);
		o.grammar.gbnf = str(text);
		lmi_alloc_fail_nth(nth, false);
		st = lmi_engine_constrain(e, &o, &c, &n, &err);
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		/* the first mask is computed again without what the matcher remembers */
		ck_assert_msg(st == LMD_OK || (failed && st == LMD_NOMEM), "allocation %u: %s",
			      (unsigned)nth, err.text);
		n_failed += st != LMD_OK;
		lmi_engine_constraint_destroy(c);
	} while (failed);
	printf("%u allocations\n", (unsigned)nth);
	ck_assert_uint_gt(n_failed, 20);
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("constrain");
	TCase *t = tcase_create("constrain");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, a_jump_changes_no_answer);
	tcase_add_test(t, a_jump_ends_with_the_context);
	tcase_add_test(t, forced_text_is_taken_in_tokens);
	tcase_add_test(t, the_border_is_left_to_the_model);
	tcase_add_test(t, a_slow_reader_changes_nothing);
	tcase_add_test(t, many_at_a_time);
	tcase_add_test(t, cancelled_between_jumps);
	tcase_add_test(t, a_prompt_is_healed);
	tcase_add_test(t, a_grammar_begins_behind_what_is_healed);
	tcase_add_test(t, what_is_healed_is_no_part_of_the_answer);
	tcase_add_test(t, refusals);
	tcase_add_test(t, first_mask_is_ready);
	tcase_add_test(t, every_allocation_may_fail);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
