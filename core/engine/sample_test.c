/* SPDX-License-Identifier: MIT
 *
 * The sampler chain: the errors it reports, properties that hold for any logits, and a token path
 * that does not allocate. */
#include "core/engine/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/chain_fixture.h"
#include "tests/lmd_check.h"

#define N_VOCAB 1000

static struct chain_env env;

static void setup(void)
{
	chain_env_init(&env);
}

static void teardown(void)
{
	chain_env_fini(&env);
}

static enum lmd_status try_make(struct lmi_sampler_chain **out, const char *json, uint64_t seed,
				struct lmd_cand *scratch, struct lmd_error *err)
{
	struct lmi_sampler_chain_opts opts = {.n_vocab = N_VOCAB, .seed = seed, .scratch = scratch};

	return chain_try(out, &env, json, opts, err);
}

static struct lmi_sampler_chain *make(const char *json, uint64_t seed)
{
	return chain_make(&env, json,
			  (struct lmi_sampler_chain_opts){.n_vocab = N_VOCAB, .seed = seed});
}

static lmd_token take(struct lmi_sampler_chain *ch, const float *logits, size_t n,
		      const uint64_t *mask)
{
	lmd_token t = -1;

	ck_assert_int_eq(lmi_sampler_chain_sample(ch, logits, n, mask, &t), LMD_OK);
	ck_assert_int_ge(t, 0);
	ck_assert_int_lt(t, (int)n);
	ck_assert(!mask || (mask[t / 64] >> (t % 64) & 1));
	return t;
}

/* ---- errors ---- */

START_TEST(refusals)
{
	static const struct {
		const char *json;
		enum lmd_status st;
		const char *says;
	} t[] = {
		{ "[]", LMD_INVALID, "1 to 32" },
		{ "{", LMD_INVALID, "not JSON" },
		{ "[1]", LMD_INVALID, "sampler 1" },
		{ "[{\"k\":1}]", LMD_INVALID, "\"sampler\"" },
		{ "[\"dist\",\"no_such\"]", LMD_NOTFOUND, "no_such" },
		{ "[{\"sampler\":\"top_k\",\"kk\":1},\"dist\"]", LMD_INVALID, "known are k, seed" },
		{ "[{\"sampler\":\"top_k\",\"k\":-5},\"dist\"]", LMD_INVALID,
		  "k is -5, must be between -1 and 2147483647" },
		{ "[{\"sampler\":\"top_k\",\"k\":1.5},\"dist\"]", LMD_INVALID, "a whole number" },
		{ "[{\"sampler\":\"top_k\",\"k\":true},\"dist\"]", LMD_INVALID, "a whole number" },
		{ "[{\"sampler\":\"top_p\",\"p\":1.01},\"dist\"]", LMD_INVALID,
		  "p is 1.01, must be between 0 and 1" },
		{ "[{\"sampler\":\"temp\",\"t\":\"-inf\"},\"dist\"]", LMD_INVALID, "t is -inf" },
		{ "[{\"sampler\":\"temp\",\"t\":\"warm\"},\"dist\"]", LMD_INVALID, "a number" },
		{ "[{\"sampler\":\"temp\",\"t\":null},\"dist\"]", LMD_INVALID, "null" },
		{ "[{\"sampler\":\"temp\",\"t\":[1]},\"dist\"]", LMD_INVALID, "a number" },
		{ "[{\"sampler\":\"temp\",\"t\":[1,-1]},\"dist\"]", LMD_INVALID,
		  "entry 1 must be a token" },
		{ "[{\"sampler\":\"penalties\",\"last_n\":1e15},\"dist\"]", LMD_INVALID, "last_n" },
		{ "[{\"sampler\":\"logit_bias\",\"bias\":[[1000,1]]},\"dist\"]", LMD_INVALID,
		  "token 1000 is outside the vocabulary of 1000" },
		{ "[{\"sampler\":\"logit_bias\",\"bias\":{\"x\":1}},\"dist\"]", LMD_INVALID,
		  "\"x\"" },
		{ "[{\"sampler\":\"dry\",\"multiplier\":1,\"breakers\":[\"x\"]},\"dist\"]",
		  LMD_INVALID, "vocabulary" },
		{ "[{\"sampler\":\"mirostat\",\"n_vocab\":0}]", LMD_INVALID, "n_vocab is 0" },
		{ "[\"infill\",\"dist\"]", LMD_INVALID, "vocabulary" },
		{ "[\"top_k\"]", LMD_INVALID, "none of its 1 samplers chooses" },
		{ "[\"dist\",\"top_k\"]", LMD_INVALID, "sampler 1 (dist) chooses" },
		{ "[\"dist\",\"greedy\"]", LMD_INVALID, "must be the last of 2" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct lmd_error err = {0};
		struct lmi_sampler_chain *ch;

		ck_assert_msg(try_make(&ch, t[i].json, 1, NULL, &err) == t[i].st, "%s: %d %s",
			      t[i].json, err.status, err.text);
		ck_assert_msg(strstr(err.text, t[i].says) != NULL, "%s: %s", t[i].json, err.text);
	}
}
END_TEST

START_TEST(too_long)
{
	char json[1024] = "[\"dist\"";
	struct lmd_error err = {0};
	struct lmi_sampler_chain *ch;

	for (int i = 0; i < LMI_SAMPLER_CHAIN_MAX; i++)
		strcat(json, ",\"dist\"");
	strcat(json, "]");
	ck_assert_int_eq(try_make(&ch, json, 1, NULL, &err), LMD_INVALID);
}
END_TEST

/* ---- properties ---- */

static const char *const chains[] = {
	"[\"greedy\"]",
	"[\"dist\"]",
	"[{\"sampler\":\"temp\",\"t\":0},\"dist\"]",
	"[{\"sampler\":\"temp\",\"t\":0.7},\"dist\"]",
	"[{\"sampler\":\"temp_ext\",\"t\":1,\"delta\":0.9},\"dist\"]",
	"[{\"sampler\":\"top_k\",\"k\":40},\"dist\"]",
	"[{\"sampler\":\"top_k\",\"k\":900},\"dist\"]",
	"[{\"sampler\":\"top_p\",\"p\":0},\"dist\"]",
	"[{\"sampler\":\"top_p\",\"p\":0.99,\"min_keep\":3},\"dist\"]",
	"[{\"sampler\":\"min_p\",\"p\":0.1},\"dist\"]",
	"[{\"sampler\":\"min_p\",\"p\":1,\"min_keep\":2000},\"dist\"]",
	"[{\"sampler\":\"typical\",\"p\":0.5},\"dist\"]",
	"[{\"sampler\":\"typ_p\",\"p\":0},\"dist\"]",
	"[{\"sampler\":\"penalties\",\"repeat\":0,\"freq\":1,\"last_n\":7},\"dist\"]",
	"[{\"sampler\":\"penalties\",\"repeat\":1.3,\"present\":-2,\"last_n\":1},\"greedy\"]",
	"[{\"sampler\":\"logit_bias\",\"bias\":{\"3\":false,\"4\":\"inf\",\"5\":2}},\"dist\"]",
	"[{\"sampler\":\"logit_bias\",\"bias\":[[3,\"inf\"],[3,\"-inf\"]]},\"greedy\"]",
	"[{\"sampler\":\"logit_bias\",\"bias\":[[3,\"inf\"]],\"suppress\":[9,3,9]},\"dist\"]",
	"[{\"sampler\":\"top_n_sigma\",\"n\":1},\"dist\"]",
	"[{\"sampler\":\"xtc\",\"p\":1,\"threshold\":0},\"dist\"]",
	"[{\"sampler\":\"xtc\",\"p\":0.5,\"threshold\":0.1,\"min_keep\":2},\"dist\"]",
	"[{\"sampler\":\"dry\",\"multiplier\":1,\"allowed_length\":0,\"last_n\":9},\"dist\"]",
	"[{\"sampler\":\"mirostat\",\"tau\":3}]",
	"[{\"sampler\":\"mirostat_v2\",\"tau\":0}]",
	"[{\"sampler\":\"adaptive_p\",\"target\":0.4}]",
	"[\"adaptive_p\"]",
	("[{\"sampler\":\"penalties\",\"repeat\":1.1},{\"sampler\":\"dry\",\"multiplier\":0.8},"
	 "\"top_n_sigma\",\"top_k\",\"typical\",\"top_p\",\"min_p\",\"xtc\",\"temp\",\"dist\"]"),
	"[\"temp\",\"min_p\",\"top_p\",\"top_k\",\"penalties\",\"top_k\",\"dist\"]",
};

static void fill_logits(float *v, size_t n, uint64_t kind, uint64_t *rng)
{
	static const float odd[] = {0.0f, -0.0f, 1e38f, -1e38f, 1e-42f, INFINITY, -INFINITY, NAN};

	for (size_t i = 0; i < n; i++) {
		uint64_t r = lmd_rand(rng);
		float x = (float)(r >> 40) * 0x1p-24f;

		switch (kind % 8) {
		case 0:
			v[i] = x * 20.0f - 10.0f;
			break;
		case 1:
			v[i] = 3.0f;
			break;
		case 2:
			v[i] = NAN;
			break;
		case 3:
			v[i] = -INFINITY;
			break;
		case 4:
			v[i] = odd[r % 8];
			break;
		case 5:
			v[i] = r % 3 ? -INFINITY : x;
			break;
		case 6:
			v[i] = (float)(r % 5);
			break;
		default:
			v[i] = x * 1e38f;
		}
	}
}

/* For any logits and any mask: a valid token that the mask allows, the same in two runs, and no
 * allocation. */
START_TEST(any_logits)
{
	uint64_t rng = lmd_seed("any_logits", 20260911);
	float *logits = malloc(N_VOCAB * sizeof(*logits));

	for (size_t k = 0; k < sizeof(chains) / sizeof(*chains); k++) {
		struct lmi_sampler_chain *a = make(chains[k], 7), *b = make(chains[k], 7);

		for (uint64_t step = 0; step < 64; step++) {
			size_t n = step % 5 ? N_VOCAB : 1 + lmd_rand(&rng) % N_VOCAB;
			uint64_t mask[(N_VOCAB + 63) / 64], before;
			lmd_token x, y;

			fill_logits(logits, n, step, &rng);
			for (size_t i = 0; i < sizeof(mask) / sizeof(*mask); i++)
				mask[i] = lmd_rand(&rng) & lmd_rand(&rng);
			mask[(n - 1) / 64] |= 1ull << ((n - 1) % 64);
			before = lmi_alloc_thread_count();
			x = take(a, logits, n, step % 3 ? mask : NULL);
			y = take(b, logits, n, step % 3 ? mask : NULL);
			lmi_sampler_chain_accept(a, x, step < 8);
			lmi_sampler_chain_accept(b, y, step < 8);
			ck_assert_uint_eq(lmi_alloc_thread_count(), before);
			ck_assert_msg(x == y, "%s step %d: %d, then %d", chains[k], (int)step, x,
				      y);
		}
		lmi_sampler_chain_destroy(a);
		lmi_sampler_chain_destroy(b);
	}
	free(logits);
}
END_TEST

/* A clone continues like the original, which is not affected. */
START_TEST(clone)
{
	uint64_t rng = lmd_seed("clone", 5);
	float logits[N_VOCAB];

	for (size_t k = 0; k < sizeof(chains) / sizeof(*chains); k++) {
		struct lmi_sampler_chain *a = make(chains[k], k), *b;
		uint64_t again = rng;
		lmd_token t[40];

		for (int i = 0; i < 20; i++) {
			fill_logits(logits, N_VOCAB, 0, &rng);
			lmi_sampler_chain_accept(a, take(a, logits, N_VOCAB, NULL), false);
		}
		ck_assert_int_eq(lmi_sampler_chain_clone(&b, a, NULL), LMD_OK);
		again = rng;
		for (int i = 0; i < 40; i++) {
			fill_logits(logits, N_VOCAB, 0, &again);
			t[i] = take(b, logits, N_VOCAB, NULL);
			lmi_sampler_chain_accept(b, t[i], false);
		}
		lmi_sampler_chain_destroy(b);
		for (int i = 0; i < 40; i++) {
			lmd_token x;

			fill_logits(logits, N_VOCAB, 0, &rng);
			x = take(a, logits, N_VOCAB, NULL);
			ck_assert_msg(x == t[i], "%s token %d", chains[k], i);
			lmi_sampler_chain_accept(a, x, false);
		}
		lmi_sampler_chain_destroy(a);
	}
}
END_TEST

/* A chain after reset behaves like a new one. */
START_TEST(reset)
{
	uint64_t rng = lmd_seed("reset", 6);

	for (size_t k = 0; k < sizeof(chains) / sizeof(*chains); k++) {
		struct lmi_sampler_chain *a = make(chains[k], k);
		float logits[N_VOCAB];
		lmd_token t[20];

		for (int round = 0; round < 2; round++) {
			uint64_t s = rng;

			for (int i = 0; i < 20; i++) {
				lmd_token x;

				fill_logits(logits, N_VOCAB, 0, &s);
				x = take(a, logits, N_VOCAB, NULL);
				ck_assert(!round || x == t[i]);
				t[i] = x;
				lmi_sampler_chain_accept(a, x, i < 3);
			}
			lmi_sampler_chain_reset(a);
		}
		lmi_sampler_chain_destroy(a);
	}
}
END_TEST

/* The random draw depends only on the step, not on earlier draws. */
START_TEST(draw_is_counted)
{
	struct lmi_sampler_chain *a = make("[\"dist\"]", 9), *b = make("[\"dist\"]", 9);
	float logits[N_VOCAB] = {0};

	for (int i = 0; i < 5; i++) {
		(void)take(a, logits, N_VOCAB, NULL);
		lmi_sampler_chain_accept(a, 1, false);
		lmi_sampler_chain_accept(b, 2, false);
	}
	lmi_sampler_chain_accept(b, 3, true);
	ck_assert_int_eq(take(a, logits, N_VOCAB, NULL), take(b, logits, N_VOCAB, NULL));
	lmi_sampler_chain_destroy(a);
	lmi_sampler_chain_destroy(b);
}
END_TEST

/* A chain runs in the order of its list: for example best of ten, or scaling before the cut. */
START_TEST(order)
{
	struct lmi_sampler_chain *a =
		make("[{\"sampler\":\"temp\",\"t\":10},{\"sampler\":\"top_p\","
		     "\"p\":0.9},\"dist\"]",
		     1);
	struct lmi_sampler_chain *b =
		make("[{\"sampler\":\"top_p\",\"p\":0.9},{\"sampler\":\"temp\","
		     "\"t\":10},\"dist\"]",
		     1);
	float logits[4] = {5.0f, 0.0f, 0.0f, 0.0f};

	(void)take(a, logits, 4, NULL);
	(void)take(b, logits, 4, NULL);
	ck_assert_uint_eq(lmi_sampler_chain_cands(a)->n, 4);
	ck_assert_uint_eq(lmi_sampler_chain_cands(b)->n, 1);
	lmi_sampler_chain_destroy(a);
	lmi_sampler_chain_destroy(b);
}
END_TEST

/* Of equal logits the lower ids stay, and greedy takes the first. */
START_TEST(ties)
{
	struct lmi_sampler_chain *a = make("[{\"sampler\":\"top_k\",\"k\":3},\"dist\"]", 1);
	struct lmi_sampler_chain *b = make("[\"greedy\"]", 1);
	float logits[N_VOCAB];

	for (int i = 0; i < N_VOCAB; i++)
		logits[i] = i < 10 ? -1.0f : 2.0f;
	(void)take(a, logits, N_VOCAB, NULL);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(lmi_sampler_chain_cands(a)->v[i].id, 10 + i);
	ck_assert_int_eq(take(b, logits, N_VOCAB, NULL), 10);
	lmi_sampler_chain_destroy(a);
	lmi_sampler_chain_destroy(b);
}
END_TEST

/* top_k and top_p compared with a full sort. */
START_TEST(selection)
{
	uint64_t rng = lmd_seed("selection", 77);
	static const int ks[] = {1, 2, 3, 17, 100, 249, 250, 251, 500, 999, 1000};
	float logits[N_VOCAB];

	for (size_t i = 0; i < sizeof(ks) / sizeof(*ks); i++) {
		char json[80];
		struct lmi_sampler_chain *ch;
		const struct lmd_cands *c;

		snprintf(json, sizeof(json), "[{\"sampler\":\"top_k\",\"k\":%d},\"dist\"]", ks[i]);
		ch = make(json, 1);
		for (uint64_t kind = 0; kind < 8; kind++) {
			float worst = INFINITY;
			size_t better = 0;

			fill_logits(logits, N_VOCAB, kind, &rng);
			(void)take(ch, logits, N_VOCAB, NULL);
			c = lmi_sampler_chain_cands(ch);
			ck_assert_uint_eq(c->n, (size_t)ks[i]);
			for (size_t j = 0; j < c->n; j++)
				worst = fminf(worst, c->v[j].logit);
			for (size_t j = 1; j < c->n && c->sorted; j++)
				ck_assert(c->v[j - 1].logit > c->v[j].logit ||
					  (c->v[j - 1].logit == c->v[j].logit &&
					   c->v[j - 1].id < c->v[j].id));
			for (size_t j = 0; j < N_VOCAB; j++)
				better += logits[j] > worst;
			ck_assert_uint_lt(better, (size_t)ks[i]);
		}
		lmi_sampler_chain_destroy(ch);
	}
}
END_TEST

/* Impossible candidates do not affect `typical`. */
START_TEST(typical_ignores_zero)
{
	struct lmi_sampler_chain *a = make("[{\"sampler\":\"typical\",\"p\":0.5},\"dist\"]", 1);
	uint64_t rng = lmd_seed("typical", 3);
	float logits[N_VOCAB];
	size_t n;

	for (int i = 0; i < N_VOCAB; i++)
		logits[i] = i < 50 ? (float)(lmd_rand(&rng) % 1000) * 0.01f : -INFINITY;
	(void)take(a, logits, N_VOCAB, NULL);
	n = lmi_sampler_chain_cands(a)->n;
	(void)take(a, logits, 50, NULL);
	ck_assert_uint_eq(lmi_sampler_chain_cands(a)->n, n);
	lmi_sampler_chain_destroy(a);
}
END_TEST

/* 16 tokens drawn by their probabilities: chi-square with 15 degrees of freedom, whose 99.99 %
 * point is 44.3. */
START_TEST(distribution)
{
	enum { N = 16, DRAWS = 100000 };
	struct lmi_sampler_chain *ch = make("[\"dist\"]", lmd_seed("distribution", 1));
	unsigned seen[N] = {0};
	float logits[N];
	double sum = 0, chi = 0;

	for (int i = 0; i < N; i++) {
		logits[i] = 0.25f * (float)i - 2.0f;
		sum += exp((double)logits[i]);
	}
	for (int i = 0; i < DRAWS; i++) {
		lmd_token t = take(ch, logits, N, NULL);

		seen[t]++;
		lmi_sampler_chain_accept(ch, t, false);
	}
	for (int i = 0; i < N; i++) {
		double want = DRAWS * exp((double)logits[i]) / sum;

		chi += ((double)seen[i] - want) * ((double)seen[i] - want) / want;
	}
	printf("chi-square: %.2f\n", chi);
	ck_assert(chi < 44.3);
	lmi_sampler_chain_destroy(ch);
}
END_TEST

START_TEST(bad_rows)
{
	struct lmi_sampler_chain *ch[] = {make("[\"dist\"]", 1), make("[\"greedy\"]", 1)};
	float logits[N_VOCAB + 1] = {0};
	uint64_t mask[(N_VOCAB + 63) / 64] = {0};
	lmd_token t;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(lmi_sampler_chain_sample(ch[i], logits, 0, NULL, &t), LMD_INVALID);
		ck_assert_int_eq(lmi_sampler_chain_sample(ch[i], logits, N_VOCAB + 1, NULL, &t),
				 LMD_INVALID);
		ck_assert_int_eq(lmi_sampler_chain_sample(ch[i], logits, N_VOCAB, mask, &t),
				 LMD_NOTFOUND);
		lmi_sampler_chain_destroy(ch[i]);
	}
	lmi_sampler_chain_destroy(NULL);
}
END_TEST

/* Several chains share one scratch buffer. */
START_TEST(shared_scratch)
{
	struct lmd_cand *scratch = malloc(N_VOCAB * sizeof(*scratch));
	struct lmi_sampler_chain *a, *b, *own = make("[\"top_k\",\"dist\"]", 3);
	float logits[N_VOCAB];
	uint64_t rng = lmd_seed("scratch", 8);

	ck_assert_int_eq(try_make(&a, "[\"top_k\",\"dist\"]", 3, scratch, NULL), LMD_OK);
	ck_assert_int_eq(lmi_sampler_chain_clone(&b, a, NULL), LMD_OK);
	for (int i = 0; i < 20; i++) {
		lmd_token t;

		fill_logits(logits, N_VOCAB, 0, &rng);
		t = take(own, logits, N_VOCAB, NULL);
		ck_assert_int_eq(take(a, logits, N_VOCAB, NULL), t);
		ck_assert_int_eq(take(b, logits, N_VOCAB, NULL), t);
		lmi_sampler_chain_accept(own, t, false);
		lmi_sampler_chain_accept(a, t, false);
		lmi_sampler_chain_accept(b, t, false);
	}
	lmi_sampler_chain_destroy(a);
	lmi_sampler_chain_destroy(b);
	lmi_sampler_chain_destroy(own);
	free(scratch);
}
END_TEST

/* Each allocation of create and clone may fail: they return a status and leave nothing behind. */
START_TEST(no_memory)
{
	struct lmi_sampler_chain *ch;
	struct lmi_alloc_stats before, after;
	struct lmd_error err;
	enum lmd_status st;

	lmi_sampler_chain_destroy(make(chains[25], 1)); /* plugins are loaded now */
	lmi_alloc_stats(&before);
	for (uint64_t n = 1; n < 1000; n++) {
		struct lmi_sampler_chain *copy;

		lmi_alloc_fail_nth(n, false);
		st = try_make(&ch, chains[25], 1, NULL, &err);
		if (st == LMD_OK) {
			st = lmi_sampler_chain_clone(&copy, ch, &err);
			if (st == LMD_OK)
				lmi_sampler_chain_destroy(copy);
			lmi_sampler_chain_destroy(ch);
		}
		if (!lmi_alloc_did_fail())
			break;
		ck_assert_int_eq(st, LMD_NOMEM);
	}
	lmi_alloc_fail_nth(0, false);
	ck_assert_int_eq(st, LMD_OK);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(after.n_live, before.n_live);
}
END_TEST

/* ---- plain parameters ---- */

static void expect_names(const struct lmi_sampler_spec_list *l, const char *want)
{
	struct lmi_sampler_chain_opts opts = {.registry = env.registry,
					      .host = env.host,
					      .specs = l->spec,
					      .n_specs = l->n,
					      .n_vocab = N_VOCAB};
	struct lmd_error err = {0};
	struct lmi_sampler_chain *ch;
	char got[400] = "";

	for (uint32_t i = 0; i < l->n; i++) {
		strcat(got, i ? " " : "");
		strcat(got, l->spec[i].name);
	}
	ck_assert_str_eq(got, want);
	ck_assert_msg(lmi_sampler_chain_create(&ch, &opts, &err) == LMD_OK, "%s: %s", want,
		      err.text);
	lmi_sampler_chain_destroy(ch);
}

START_TEST(plain_params)
{
	static const struct lmd_bias bias = {.id = 3, .bias = -1.0f};
	struct lmi_sampler_params p;
	struct lmi_sampler_spec_list l;

	lmi_sampler_params_default(&p);
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "top_k top_p min_p temp dist");
	p.temp = 0;
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "greedy");
	p.logit_bias = &bias;
	p.n_logit_bias = 1;
	p.repeat_penalty = 1.1;
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "logit_bias penalties greedy");
	p.repeat_last_n = -1; /* the context length is unknown */
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "logit_bias greedy");
	p.n_ctx = 4096;
	p.temp = 1;
	p.dry_multiplier = 0.8;
	p.has_dry_breakers = true;
	p.dry_breakers = NULL;
	p.n_dry_breakers = 0;
	p.top_n_sigma = 2;
	p.typical = 0.9;
	p.xtc_probability = 0.5;
	p.dynatemp_range = 0.2;
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "logit_bias penalties dry top_n_sigma top_k typical top_p min_p xtc "
			 "temp_ext dist");
	p.mirostat = 2;
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "logit_bias penalties dry temp_ext mirostat_v2");
	p.n_logit_bias = 0;
	p.suppress_tokens = &bias.id;
	p.n_suppress_tokens = 1;
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "logit_bias penalties dry temp_ext mirostat_v2");
	p.n_suppress_tokens = 0;
	p.mirostat = 0;
	p.top_k = 0;
	lmi_sampler_specs(&l, &p);
	expect_names(&l, "penalties dry top_n_sigma typical top_p min_p xtc temp_ext dist");
}
END_TEST

START_TEST(ordered_params)
{
	static const char *const names[] = {"temperature", "top_k", "top_k", "penalties"};
	static const char *const choice[] = {"min_p", "mirostat"};
	static const char *many[LMI_SAMPLER_CHAIN_MAX];
	struct lmi_sampler_params p;
	struct lmi_sampler_spec_list l;
	struct lmd_error err;
	char letters[] = "edskypmxt";

	lmi_sampler_params_default(&p);
	ck_assert_int_eq(lmi_sampler_specs_ordered(&l, &p, names, 4, &err), LMD_OK);
	expect_names(&l, "temp_ext top_k top_k penalties dist");
	ck_assert_int_eq(lmi_sampler_specs_ordered(&l, &p, choice, 2, &err), LMD_OK);
	expect_names(&l, "min_p mirostat");
	ck_assert_int_eq(lmi_sampler_specs_ordered(&l, &p, NULL, 0, &err), LMD_OK);
	expect_names(&l, "dist");
	for (int i = 0; i < LMI_SAMPLER_CHAIN_MAX; i++)
		many[i] = "penalties";
	ck_assert_int_eq(lmi_sampler_specs_ordered(&l, &p, many, LMI_SAMPLER_CHAIN_MAX - 2, &err),
			 LMD_OK);
	ck_assert_int_eq(lmi_sampler_specs_ordered(&l, &p, many, LMI_SAMPLER_CHAIN_MAX - 1, &err),
			 LMD_INVALID);
	for (char *c = letters; *c; c++)
		ck_assert(lmi_sampler_letter(*c) != NULL);
	ck_assert_str_eq(lmi_sampler_letter('t'), "temp_ext");
	ck_assert(lmi_sampler_letter('z') == NULL && lmi_sampler_letter('\0') == NULL);
}
END_TEST

START_TEST(orders_by_name)
{
	static const struct {
		const char *order, *names; /* NULL: an error */
	} t[] = {
		{ "default", "penalties top_k typical top_p min_p temp dist" },
		{ "temperature-first", "penalties temp top_k top_p min_p typical dist" },
		{ "tkpe", "temp_ext top_k top_p penalties dist" },
		{ "top_k,temp", "top_k temp dist" },
		{ "min_p", "min_p dist" },
		{ "temp,greedy", "temp greedy" },
		{ "", NULL },
	};
	struct lmi_sampler_params p;
	struct lmi_sampler_spec_list l;
	char buf[LMI_SAMPLER_ORDER_MAX], big[LMI_SAMPLER_ORDER_MAX + 1];
	struct lmd_error err;

	lmi_sampler_params_default(&p);
	p.repeat_penalty = 1.1;
	p.typical = 0.9;
	for (size_t i = 0; i < LMD_LEN(t); i++) {
		const struct lmd_str text = {t[i].order, strlen(t[i].order)};
		enum lmd_status st = lmi_sampler_specs_order(&l, &p, text, buf, &err);

		ck_assert_msg((st == LMD_OK) == (t[i].names != NULL), "%s: %d", t[i].order, st);
		if (t[i].names)
			expect_names(&l, t[i].names);
	}
	memset(big, 'k', sizeof(big));
	ck_assert_int_eq(lmi_sampler_specs_order(&l, &p, (struct lmd_str){big, 100}, buf, &err),
			 LMD_INVALID);
	ck_assert_int_eq(
		lmi_sampler_specs_order(&l, &p, (struct lmd_str){big, sizeof(big)}, buf, &err),
		LMD_INVALID);
	p.temp = 0;
	ck_assert_int_eq(lmi_sampler_specs_order(&l, &p, (struct lmd_str){"temperature-first", 17},
						 buf, &err),
			 LMD_OK);
	expect_names(&l, "penalties greedy");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sample");
	TCase *t = tcase_create("chain");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, refusals);
	tcase_add_test(t, too_long);
	tcase_add_test(t, any_logits);
	tcase_add_test(t, clone);
	tcase_add_test(t, reset);
	tcase_add_test(t, draw_is_counted);
	tcase_add_test(t, order);
	tcase_add_test(t, ties);
	tcase_add_test(t, selection);
	tcase_add_test(t, typical_ignores_zero);
	tcase_add_test(t, distribution);
	tcase_add_test(t, bad_rows);
	tcase_add_test(t, shared_scratch);
	tcase_add_test(t, no_memory);
	tcase_add_test(t, plain_params);
	tcase_add_test(t, ordered_params);
	tcase_add_test(t, orders_by_name);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
