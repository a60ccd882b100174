/* SPDX-License-Identifier: MIT
 *
 * Optimised selection gives the same results as the plain one: chains whose top_k follows penalties
 * and biases compared with the same chains over all candidates, and top_p over a whole vocabulary
 * compared with a full sort. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/chain_fixture.h"
#include "tests/lmd_check.h"

#define N 20000

static struct chain_env env;
static float logits[N];
static uint64_t rng;

static void setup(void)
{
	chain_env_init(&env);
	rng = lmd_seed("shortlist", 11);
}

static void teardown(void)
{
	chain_env_fini(&env);
}

static struct lmi_sampler_chain *make(const char *json, bool partial)
{
	return chain_make(
		&env, json,
		(struct lmi_sampler_chain_opts){.n_vocab = N, .seed = 5, .partial = partial});
}

/* Fills rows of several kinds: spread, peaked, with many equal logits, with infinities and NaN. */
static void fill(int kind)
{
	for (int i = 0; i < N; i++) {
		float x = 0;

		for (int k = 0; k < 4; k++)
			x += (float)(lmd_rand(&rng) >> 40) * 0x1p-24f - 0.5f;
		logits[i] = kind == 2 ? floorf(3 * x) : x * (kind ? 12.0f : 4.0f);
		if (kind == 3 && lmd_rand(&rng) % 3 == 0)
			logits[i] = lmd_rand(&rng) % 2 ? -INFINITY : NAN;
		if (kind == 4)
			logits[i] = lmd_rand(&rng) % 2 ? 0.0f : -0.0f;
	}
}

static void same_cands(const struct lmi_sampler_chain *a, const struct lmi_sampler_chain *b,
		       const char *what)
{
	const struct lmd_cands *x = lmi_sampler_chain_cands(a), *y = lmi_sampler_chain_cands(b);

	ck_assert_msg(x->n == y->n, "%s: %zu and %zu candidates", what, x->n, y->n);
	for (size_t i = 0; i < x->n; i++)
		ck_assert_msg(x->v[i].id == y->v[i].id &&
				      !memcmp(&x->v[i].logit, &y->v[i].logit, sizeof(float)),
			      "%s: candidate %zu: %d %a and %d %a", what, i, x->v[i].id,
			      (double)x->v[i].logit, y->v[i].id, (double)y->v[i].logit);
}

/* a leading `temp` of 1 changes nothing but the code path */
static const char *const chains[] = {
	"{\"sampler\":\"penalties\",\"repeat\":1.3,\"freq\":0.1},{\"sampler\":\"top_k\",\"k\":40},"
	"\"dist\"]",
	"{\"sampler\":\"penalties\",\"repeat\":0.5,\"present\":-3,\"last_n\":7},{\"sampler\":"
	"\"top_k\",\"k\":3},\"dist\"]",
	"{\"sampler\":\"logit_bias\",\"bias\":[[3,20],[19999,-5],[3,1],[70,\"-inf\"]],"
	"\"suppress\":[12345,3,19000]},"
	"{\"sampler\":\"penalties\",\"freq\":2,\"last_n\":500},{\"sampler\":\"top_k\",\"k\":100},"
	"\"dist\"]",
	"{\"sampler\":\"penalties\",\"repeat\":2,\"last_n\":3000},{\"sampler\":\"top_k\",\"k\":9},"
	"\"dist\"]",
	"{\"sampler\":\"penalties\",\"repeat\":2},{\"sampler\":\"top_k\",\"k\":0},\"dist\"]",
};

static void one_chain(const char *rest, const uint64_t *mask)
{
	char text[600];
	struct lmi_sampler_chain *a, *b, *copy;
	struct lmd_error err;

	snprintf(text, sizeof(text), "[%s", rest);
	a = make(text, false);
	snprintf(text, sizeof(text), "[{\"sampler\":\"temp\",\"t\":1},%s", rest);
	b = make(text, false);
	for (int step = 0; step < 60; step++) {
		lmd_token x, y;

		fill(step % 5);
		if (step == 30)
			lmi_sampler_chain_reset(a), lmi_sampler_chain_reset(b);
		if (step == 40) {
			ck_assert(lmi_sampler_chain_clone(&copy, a, &err) == LMD_OK);
			lmi_sampler_chain_destroy(a);
			a = copy;
		}
		ck_assert_int_eq(lmi_sampler_chain_sample(a, logits, N - 5, mask, &x), LMD_OK);
		ck_assert_int_eq(lmi_sampler_chain_sample(b, logits, N - 5, mask, &y), LMD_OK);
		same_cands(a, b, rest);
		ck_assert_int_eq(x, y);
		/* a likely token, and another one */
		lmi_sampler_chain_accept(a, x, false);
		lmi_sampler_chain_accept(b, x, false);
		y = (lmd_token)(lmd_rand(&rng) % N);
		lmi_sampler_chain_accept(a, y, true);
		lmi_sampler_chain_accept(b, y, true);
	}
	lmi_sampler_chain_destroy(a);
	lmi_sampler_chain_destroy(b);
}

START_TEST(top_k_behind_penalties)
{
	uint64_t mask[N / 64 + 1];

	for (size_t i = 0; i < LMD_LEN(mask); i++)
		mask[i] = lmd_rand(&rng) & lmd_rand(&rng);
	for (size_t i = 0; i < LMD_LEN(chains); i++) {
		one_chain(chains[i], NULL);
		one_chain(chains[i], mask);
	}
}
END_TEST

/* ---- top_p ---- */

static int by_logit(const void *a, const void *b)
{
	const struct lmd_cand *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit < y->logit ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Follows the definition: softmax in the order of ids, a full sort, a sum of floats. */
static size_t slow_top_p(struct lmd_cand *v, float p, size_t min_keep)
{
	float max = -INFINITY, sum = 0, at = 0;

	for (int i = 0; i < N; i++) {
		v[i] = (struct lmd_cand){.id = i,
					 .logit = isnan(logits[i]) ? -INFINITY : logits[i]};
		max = fmaxf(max, v[i].logit);
	}
	for (int i = 0; i < N; i++) {
		v[i].p = expf(v[i].logit - max);
		sum += v[i].p;
	}
	for (int i = 0; i < N; i++)
		v[i].p /= sum;
	qsort(v, N, sizeof(*v), by_logit);
	for (size_t i = 0; i < N; i++) {
		at += v[i].p;
		if (at >= p && i + 1 >= min_keep)
			return i + 1;
	}
	return N;
}

START_TEST(top_p_of_a_vocabulary)
{
	static const double ps[] = {0, 0.1, 0.5, 0.9, 0.95, 0.999, 0.999999};
	struct lmd_cand *want = lmi_alloc(N, sizeof(*want)), *v = lmi_alloc(N, sizeof(*v));

	for (size_t k = 0; k < 2 * LMD_LEN(ps); k++) {
		double p = ps[k / 2];
		uint32_t min_keep = k % 2 ? 700 : 0;
		char text[120];
		struct lmi_sampler_chain *ch;

		snprintf(text, sizeof(text), "[{\"sampler\":\"top_p\",\"p\":%.9g,\"min_keep\":%u}]",
			 p, min_keep);
		ch = make(text, true);
		for (int kind = 0; kind < 5; kind++) {
			struct lmd_cands c = {.v = v, .n = N, .selected = -1};
			size_t n;

			fill(kind);
			for (int i = 0; i < N; i++)
				v[i] = (struct lmd_cand){.id = i, .logit = logits[i]};
			n = slow_top_p(want, (float)p, min_keep);
			ck_assert(lmi_sampler_chain_apply(ch, &c) == LMD_OK);
			ck_assert_msg(c.n == n, "p %g, rows %d: %zu left, not %zu", p, kind, c.n,
				      n);
			for (size_t i = 0; i < n; i++)
				ck_assert_msg(c.v[i].id == want[i].id &&
						      !memcmp(&c.v[i].p, &want[i].p, sizeof(float)),
					      "p %g, rows %d: candidate %zu: %d, not %d", p, kind,
					      i, c.v[i].id, want[i].id);
			ck_assert(c.sorted);
		}
		lmi_sampler_chain_destroy(ch);
	}
	lmi_free(want);
	lmi_free(v);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("shortlist");
	TCase *t = tcase_create("shortlist");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, top_k_behind_penalties);
	tcase_add_test(t, top_p_of_a_vocabulary);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
