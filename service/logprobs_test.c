/* SPDX-License-Identifier: MIT
 *
 * Log probabilities in the items of a generation.  The null backend gives the token after t at
 * position p the logit 2, the token t + p the logit 1 unless it is the same, and all others 0. */
#include "service/logprobs.h"

#include <math.h>
#include <string.h>

#include "tests/service_fixture.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
	fx_start(&fx);
	fx_load(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

static const lmd_token prompt[3] = {10, 20, 30};

/* The log probability of a logit after token number `pos` of the sequence. */
static double expect(double logit, uint32_t pos)
{
	double others = pos == 1 ? LMT_VOCAB - 1 : LMT_VOCAB - 2 + exp(1);

	return logit - log(others + exp(2));
}

static struct lmi_wire_request request(int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", "x", n);
	struct lmi_wire_req_generate *g = &q.u.generate;

	g->has_prompt = false;
	g->has_tokens = true;
	g->tokens = prompt;
	g->n_tokens = LMD_LEN(prompt);
	g->has_temp = true;
	g->temp = 0;
	return q;
}

/* Starts the generation and reads all its items with one request: they are in fx.a. */
static const struct lmi_wire_rep_next *run(struct lmi_wire_request *q)
{
	struct lmi_wire_request next;

	ck_assert_msg(fx_call(&fx, &fx_user, q), "%s", fx.a.err.text);
	next = fx_next(&fx.a.r.u.generate.id, 0);
	fx_settle(&fx);
	ck_assert_msg(fx_call(&fx, &fx_user, &next), "%s", fx.a.err.text);
	ck_assert(fx.a.r.u.next.end);
	return &fx.a.r.u.next;
}

static void check(const struct lmi_wire_token_logprob *l, lmd_token token, double logprob)
{
	ck_assert_int_eq(l->token, token);
	ck_assert_double_eq_tol(l->logprob, logprob, 1e-5);
	if (token < 95) { /* a character; others are control tokens */
		ck_assert_uint_eq(l->text.len, 1);
		ck_assert_int_eq(l->text.ptr[0], 32 + token);
	}
}

START_TEST(of_an_answer)
{
	struct lmi_wire_request q = request(3);
	const struct lmi_wire_rep_next *r;

	q.u.generate.has_logprobs = true;
	q.u.generate.logprobs = 3;
	r = run(&q);
	ck_assert_uint_eq(r->n_items, 4);
	for (uint32_t i = 0; i < 3; i++) {
		lmd_token t = 30 + (lmd_token)i;
		uint32_t pos = 2 + i;

		ck_assert_int_eq(r->items[i].kind, LMI_WIRE_ITEM_TOKEN);
		ck_assert_int_eq(r->items[i].u.token.token, t + 1);
		ck_assert_uint_eq(r->items[i].u.token.n_logprobs, 4);
		check(&r->items[i].u.token.logprobs[0], t + 1, expect(2, pos));
		check(&r->items[i].u.token.logprobs[1], t + 1, expect(2, pos));
		check(&r->items[i].u.token.logprobs[2], t + (lmd_token)pos, expect(1, pos));
		check(&r->items[i].u.token.logprobs[3], 0, expect(0, pos));
	}
}
END_TEST

START_TEST(of_the_token_alone)
{
	struct lmi_wire_request q = request(2);
	const struct lmi_wire_rep_next *r;

	q.u.generate.has_logprobs = true;
	r = run(&q);
	ck_assert_uint_eq(r->items[1].u.token.n_logprobs, 1);
	check(&r->items[1].u.token.logprobs[0], 32, expect(2, 3));
	q = request(2);
	r = run(&q);
	ck_assert_uint_eq(r->items[1].u.token.n_logprobs, 0);
}
END_TEST

/* The greedy sampler leaves one token. */
START_TEST(of_what_the_samplers_left)
{
	struct lmi_wire_request q = request(1);
	const struct lmi_wire_rep_next *r;

	q.u.generate.has_logprobs = true;
	q.u.generate.logprobs = 5;
	q.u.generate.sampled_probs = true;
	r = run(&q);
	ck_assert_uint_eq(r->items[0].u.token.n_logprobs, 2);
	check(&r->items[0].u.token.logprobs[0], 31, 0);
	check(&r->items[0].u.token.logprobs[1], 31, 0);
	q = request(1);
	q.u.generate.sampled_probs = true;
	ck_assert(!fx_call(&fx, &fx_user, &q));
	ck_assert_str_eq(fx.a.err.text, "sampled_probs: requires logprobs");
}
END_TEST

/* A grammar does not change the model's own probabilities, and no token is taken without them. */
START_TEST(of_an_answer_with_a_grammar)
{
	static const char gbnf[] = "root ::= \"ABCD\"";
	struct lmi_wire_request q = request(4);
	const struct lmi_wire_rep_next *r;
	double want[] = {0, 2, 2, 2};

	q.u.generate.has_logprobs = q.u.generate.has_grammar = true;
	q.u.generate.grammar = (struct lmd_str){.ptr = gbnf, .len = sizeof(gbnf) - 1};
	r = run(&q);
	ck_assert_uint_eq(r->n_items, 5);
	for (uint32_t i = 0; i < 4; i++)
		check(&r->items[i].u.token.logprobs[0], 'A' - 32 + (lmd_token)i,
		      expect(want[i], 2 + i));
	ck_assert_int_eq(r->items[4].u.done.n_forced, 0);
}
END_TEST

START_TEST(of_a_prompt)
{
	struct lmi_wire_request q = request(1);
	const struct lmi_wire_rep_next *r;

	q.u.generate.has_prompt_logprobs = true;
	q.u.generate.prompt_logprobs = 1;
	r = run(&q);
	ck_assert_uint_eq(r->n_items, 5);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(r->items[i].kind, LMI_WIRE_ITEM_PROMPT_TOKEN);
		ck_assert_int_eq(r->items[i].u.prompt_token.token, prompt[i]);
		ck_assert_int_eq(r->items[i].u.prompt_token.text.ptr[0], 32 + prompt[i]);
		ck_assert_uint_eq(r->items[i].u.prompt_token.n_logprobs, i ? 2 : 0);
		if (!i)
			continue;
		check(&r->items[i].u.prompt_token.logprobs[0], prompt[i], expect(0, i - 1));
		check(&r->items[i].u.prompt_token.logprobs[1], prompt[i - 1] + 1, expect(2, i - 1));
	}
	ck_assert_int_eq(r->items[3].kind, LMI_WIRE_ITEM_TOKEN);
	ck_assert_int_eq(r->items[3].u.token.token, 31);
	ck_assert_uint_eq(r->items[3].u.token.n_logprobs, 0);
	ck_assert_int_eq(r->items[4].u.done.n_prompt, 3);
	fx_check_empty(&fx);
}
END_TEST

START_TEST(of_a_prompt_without_probabilities)
{
	struct lmi_wire_request q = request(1);
	const struct lmi_wire_rep_next *r;

	q.u.generate.prompt_tokens = true;
	r = run(&q);
	ck_assert_uint_eq(r->n_items, 5);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(r->items[i].kind, LMI_WIRE_ITEM_PROMPT_TOKEN);
		ck_assert_int_eq(r->items[i].u.prompt_token.token, prompt[i]);
		ck_assert_uint_eq(r->items[i].u.prompt_token.n_logprobs, 0);
	}
	ck_assert_int_eq(r->items[3].u.token.token, 31);
}
END_TEST

/* A prompt of one token, and an answer of none. */
START_TEST(of_next_to_nothing)
{
	struct lmi_wire_request q = request(0);
	const struct lmi_wire_rep_next *r;

	q.u.generate.has_prompt_logprobs = true;
	q.u.generate.n_tokens = 1;
	r = run(&q);
	ck_assert_uint_eq(r->n_items, 2);
	ck_assert_int_eq(r->items[0].kind, LMI_WIRE_ITEM_PROMPT_TOKEN);
	ck_assert_int_eq(r->items[1].kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(r->items[1].u.done.n_out, 0);
	ck_assert_int_eq(r->items[1].u.done.n_prompt, 1);
}
END_TEST

START_TEST(a_client_leaves_during_the_prompt)
{
	for (int at = 0; at < 12; at++) {
		struct lmi_wire_request q = request(5);

		q.u.generate.has_prompt_logprobs = true;
		fx_check_leaving(&fx, &q, at);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("logprobs");
	TCase *t = tcase_create("logprobs");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, of_an_answer);
	tcase_add_test(t, of_the_token_alone);
	tcase_add_test(t, of_what_the_samplers_left);
	tcase_add_test(t, of_an_answer_with_a_grammar);
	tcase_add_test(t, of_a_prompt);
	tcase_add_test(t, of_a_prompt_without_probabilities);
	tcase_add_test(t, of_next_to_nothing);
	tcase_add_test(t, a_client_leaves_during_the_prompt);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
