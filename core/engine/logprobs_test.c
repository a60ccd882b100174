/* SPDX-License-Identifier: MIT
 *
 * Log probabilities of tokens, compared with softmax by its definition over the logits that
 * evaluations return. */
#include "core/engine/logprobs.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/lmd_check.h"
#include "tests/generation_fixture.h"

static struct story_env env;

static void setup(void)
{
	story_env_init(&env, "logprobs");
}

static void teardown(void)
{
	story_env_fini(&env);
}

/* The logarithm of softmax(x)[i], in long double and without the usual tricks. */
static double expect(const float *x, uint32_t n, uint32_t i)
{
	long double sum = 0;

	for (uint32_t k = 0; k < n; k++)
		sum += expl((long double)x[k]);
	return (double)logl(expl((long double)x[i]) / sum);
}

/* The number of tokens that come before i in the order of the list. */
static uint32_t rank(const float *x, uint32_t n, uint32_t i)
{
	uint32_t r = 0;

	for (uint32_t k = 0; k < n; k++)
		r += x[k] > x[i] || (x[k] == x[i] && k < i);
	return r;
}

static void check_row(const struct lmi_engine_logprobs *l, uint32_t n, const float *x, uint32_t width,
		      lmd_token token)
{
	ck_assert_uint_eq(l->n, n);
	ck_assert_int_eq(l->v[0].token, token);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = (uint32_t)l->v[i].token;

		ck_assert_uint_lt(id, width);
		ck_assert_double_eq_tol(l->v[i].logprob, expect(x, width, id), 1e-4);
		if (i)
			ck_assert_uint_eq(rank(x, width, id), i - 1);
	}
}

/* ---- rows ---- */

START_TEST(a_row_with_ties_gaps_and_nan)
{
	static const float x[] = {1, 3, NAN, 3, -INFINITY, 2};
	float scratch[8], plain[] = {1, 3, -INFINITY, 3, -INFINITY, 2};
	struct lmi_engine_logprobs l;

	ck_assert_uint_le(lmi_engine_logprobs_scratch(LMD_LEN(x)), LMD_LEN(scratch));
	lmi_engine_logprobs_of_row(&l, 5, x, LMD_LEN(x), 0, scratch);
	check_row(&l, 5, plain, LMD_LEN(x), 0);
	ck_assert_int_eq(l.v[1].token, 1);
	ck_assert_int_eq(l.v[2].token, 3);
	lmi_engine_logprobs_of_row(&l, LMI_ENGINE_LOGPROBS_MAX, x, LMD_LEN(x), 4, scratch);
	ck_assert_uint_eq(l.n, 7); /* all there are */
	ck_assert_float_eq(l.v[0].logprob, LMI_ENGINE_LOGPROB_MIN);
	ck_assert_int_eq(l.v[6].token, 4);
	ck_assert_float_eq(l.v[6].logprob, LMI_ENGINE_LOGPROB_MIN);
}
END_TEST

START_TEST(a_long_row)
{
	static float x[5000];
	static float scratch[128];
	struct lmi_engine_logprobs l;
	uint32_t seed = 12345;

	for (uint32_t i = 0; i < LMD_LEN(x); i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = (float)(seed >> 16) / 4096.0f - 8;
	}
	ck_assert_uint_le(lmi_engine_logprobs_scratch(LMD_LEN(x)), LMD_LEN(scratch));
	for (uint32_t n = 1; n <= LMI_ENGINE_LOGPROBS_MAX; n += 16) {
		lmi_engine_logprobs_of_row(&l, n, x, LMD_LEN(x), 4711, scratch);
		check_row(&l, n, x, LMD_LEN(x), 4711);
	}
}
END_TEST

START_TEST(candidates_in_any_order)
{
	struct lmd_cand v[] = {{.id = 7, .logit = 1}, {.id = 3, .logit = 4}, {.id = 9, .logit = 2}};
	const struct lmd_cands c = {.v = v, .n = LMD_LEN(v)}, none = {0};
	const float x[] = {4, 2, 1};
	struct lmi_engine_logprobs l;

	lmi_engine_logprobs_of_cands(&l, 3, &c, 7);
	ck_assert_uint_eq(l.n, 3);
	ck_assert_int_eq(l.v[0].token, 7);
	ck_assert_int_eq(l.v[1].token, 3);
	ck_assert_int_eq(l.v[2].token, 9);
	ck_assert_double_eq_tol(l.v[0].logprob, expect(x, 3, 2), 1e-6);
	ck_assert_double_eq_tol(l.v[1].logprob, expect(x, 3, 0), 1e-6);
	ck_assert_double_eq_tol(l.v[2].logprob, expect(x, 3, 1), 1e-6);
	lmi_engine_logprobs_of_cands(&l, 3, &none, 5);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_int_eq(l.v[1].token, 5);
	ck_assert_float_eq(l.v[1].logprob, 0);
}
END_TEST

/* ---- generations ---- */

/* Returns the logits after the prompt and the first n tokens of the answer. */
static struct lmt_rows logits_after(struct lmi_engine *e, const struct story *s, uint32_t n)
{
	lmd_token v[128];
	struct lmi_engine_input_seq in;
	struct lmi_engine_eval ev = {.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_ENGINE_WANT_LAST};
	struct lmt_rows r;

	memcpy(v, hello, sizeof(hello));
	memcpy(v + LMD_LEN(hello), s->tokens, n * sizeof(*v));
	in = lmt_tokens(v, (uint32_t)LMD_LEN(hello) + n);
	ck_assert_int_eq(lmt_eval(e, &ev, &r, NULL), LMD_OK);
	return r;
}

START_TEST(a_generation_reports_the_models_probabilities)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 20);
	struct lmi_engine_stats st;
	struct story s;

	cmd.n_logprobs = 4;
	s = story_generate(e, &cmd);
	ck_assert_int_eq(s.end, LMI_ENGINE_EV_DONE);
	ck_assert_uint_eq(s.n_tokens, 20);
	ck_assert_uint_eq(s.n_logprobs, 20);
	for (uint32_t i = 0; i < 20; i++) {
		struct lmt_rows r = logits_after(e, &s, i);

		check_row(&s.logprobs[i], 4, r.v, r.width, s.tokens[i]);
		lmi_free(r.v);
	}
	lmi_engine_stats(e, &st);
	ck_assert_uint_eq(st.step_allocs, 0);
	lmi_engine_fini(e);
}
END_TEST

/* With top_k 3 and temperature 0.5, the probabilities are those of three doubled logits. */
START_TEST(a_generation_reports_what_the_samplers_left)
{
	static const struct lmi_sampler_arg k = {"k", LMD_PARAM_INT, {.i = 3}},
					    t = {"t", LMD_PARAM_FLOAT, {.f = 0.5}};
	static const struct lmi_sampler_spec specs[] = {
		{"top_k", &k, 1}, {"temp", &t, 1}, {"dist", NULL, 0}};
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_generate cmd = story_command(1, hello, 5, 20);
	struct story s;

	cmd.n_logprobs = 6;
	cmd.flags |= LMI_ENGINE_GEN_SAMPLED_PROBS;
	cmd.specs = specs;
	cmd.n_specs = LMD_LEN(specs);
	s = story_generate(e, &cmd);
	ck_assert_uint_eq(s.n_logprobs, 20);
	for (uint32_t i = 0; i < 20; i++) {
		const struct lmi_engine_logprobs *l = &s.logprobs[i];
		struct lmt_rows r = logits_after(e, &s, i);
		float left[3] = {0};

		ck_assert_uint_eq(l->n, 4);
		ck_assert_int_eq(l->v[0].token, s.tokens[i]);
		for (uint32_t n = 0; n < 3; n++) {
			ck_assert_uint_eq(rank(r.v, r.width, (uint32_t)l->v[n + 1].token), n);
			left[n] = 2 * r.v[l->v[n + 1].token];
		}
		for (uint32_t n = 0; n < 3; n++) {
			ck_assert_double_eq_tol(l->v[n + 1].logprob, expect(left, 3, n), 1e-3);
			if (l->v[n + 1].token == s.tokens[i])
				ck_assert_float_eq(l->v[0].logprob, l->v[n + 1].logprob);
		}
		lmi_free(r.v);
	}
	lmi_engine_fini(e);
}
END_TEST

START_TEST(an_evaluation_reports_those_of_its_tokens)
{
	struct lmi_engine_opts o = story_opts(&env, 1);
	struct lmi_engine *e = story_engine(&o);
	struct lmi_engine_input_seq in = lmt_tokens(hello, 5);
	struct lmi_engine_eval ev = {
		.id = 1, .seqs = &in, .n_seq = 1, .want = LMI_ENGINE_WANT_LOGPROBS, .n_logprobs = 3};
	struct lmt_rows r, x;
	struct lmd_error err;

	ck_assert_int_eq(lmt_eval(e, &ev, &r, NULL), LMD_OK);
	ck_assert_uint_eq(r.n_row, 4);
	ck_assert_uint_eq(r.width, 6);
	ev.want = LMI_ENGINE_WANT_LOGITS;
	ck_assert_int_eq(lmt_eval(e, &ev, &x, NULL), LMD_OK);
	for (uint32_t i = 0; i < 4; i++) {
		struct lmi_engine_logprobs l = {.n = 3};

		for (uint32_t k = 0; k < 3; k++) {
			l.v[k].token = (lmd_token)r.v[i * 6 + 2 * k];
			l.v[k].logprob = r.v[i * 6 + 2 * k + 1];
		}
		check_row(&l, 3, x.v + (size_t)i * x.width, x.width, hello[i + 1]);
	}
	lmi_free(r.v);
	lmi_free(x.v);
	ev.want = LMI_ENGINE_WANT_LOGPROBS;
	ev.n_logprobs = LMI_ENGINE_LOGPROBS_MAX + 1;
	ck_assert_int_eq(lmi_engine_eval(e, &ev, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "evaluation: 34 log probabilities, the maximum is 33");
	ev.n_logprobs = 0;
	ck_assert_int_eq(lmi_engine_eval(e, &ev, &err), LMD_INVALID);
	lmi_engine_fini(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("logprobs");
	TCase *t = tcase_create("logprobs");

	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_row_with_ties_gaps_and_nan);
	tcase_add_test(t, a_long_row);
	tcase_add_test(t, candidates_in_any_order);
	tcase_add_test(t, a_generation_reports_the_models_probabilities);
	tcase_add_test(t, a_generation_reports_what_the_samplers_left);
	tcase_add_test(t, an_evaluation_reports_those_of_its_tokens);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
