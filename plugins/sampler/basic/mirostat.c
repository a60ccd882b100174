/* SPDX-License-Identifier: MIT
 *
 * mirostat, mirostat_v2: generate text with a target surprise (Basu et al., "Mirostat: A Neural
 * Text Decoding Algorithm that Directly Controls Perplexity").
 *
 * mu bounds the surprise -log2 p of the candidates.  It starts at 2 tau; after each token mu -=
 * eta * (surprise - tau), where p is the token's probability among the candidates that were left.
 * Version 1 estimates Zipf's exponent s from the m most likely candidates and keeps
 *     k = ((s - 1) 2^mu / (1 - N^(1 - s)))^(1 / s)
 * candidates; version 2 keeps those whose surprise is at most mu. */
#include "last_probs.h"

/* An estimate of k that is not below this is rejected. */
#define K_MAX 0x1p31f

enum { P_TAU, P_ETA, P_M };

struct state {
	float tau, eta, mu, n_vocab;
	int64_t m;
	uint64_t seed;
	struct sampler_last_probs seen; /* followed by its array */
};

static const struct lmd_param params[] = {
	[P_TAU] = SAMPLER_PARAM_mirostat_tau,
	[P_ETA] = SAMPLER_PARAM_mirostat_eta,
	[P_M] = {.name = "m",
		 .type = LMD_PARAM_INT,
		 .def = 100,
		 .min = 1,
		 .max = SAMPLER_KEEP_MAX,
		 .doc = "Number of candidates from which Zipf's exponent is estimated."},
};

static size_t bytes(const struct lmd_sampler_init *in)
{
	return offsetof(struct state, seen) + sampler_last_probs_bytes(in->n_vocab);
}

static void reset(void *state)
{
	struct state *s = state;

	s->mu = 2.0f * s->tau;
	sampler_last_probs_clear(&s->seen);
}

static enum lmd_status init_v2(void *state, const struct lmd_sampler_init *in,
			       struct lmd_error *err)
{
	struct state *s = state;

	(void)err;
	s->tau = (float)in->params[P_TAU].f;
	s->eta = (float)in->params[P_ETA].f;
	s->n_vocab = (float)in->n_vocab;
	s->seed = in->seed;
	s->seen.max = sampler_last_probs_max(in->n_vocab);
	reset(s);
	return LMD_OK;
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	struct state *s = state;

	s->m = in->params[P_M].i;
	return init_v2(state, in, err);
}

/* Keeps the first n of the sorted candidates and chooses one of them. */
static void choose(struct state *s, struct lmd_cands *c, size_t n)
{
	size_t i;

	c->n = n;
	i = sampler_cands_draw(c, lmd_sample_rand(s->seed, c->step, SAMPLER_DRAW_DIST));
	sampler_last_probs_store(&s->seen, c);
	sampler_last_probs_choose(&s->seen, c->v[i].id, c->v[i].p);
	c->selected = (int64_t)i;
}

static void apply(void *state, struct lmd_cands *c)
{
	struct state *s = state;
	float tb = 0.0f, tt = 0.0f, exponent, epsilon, k;

	sampler_cands_sort(c);
	(void)sampler_cands_softmax(c); /* only for its effect on p */
	for (size_t i = 0; i + 1 < c->n && (int64_t)i < s->m - 1; i++) {
		float t = logf((float)(i + 2) / (float)(i + 1));
		float b = logf(c->v[i].p / c->v[i + 1].p);

		tb += t * b;
		tt += t * t;
	}
	exponent = tb / tt;
	epsilon = exponent - 1.0f;
	k = powf(epsilon * powf(2.0f, s->mu) / (1.0f - powf(s->n_vocab, -epsilon)),
		 1.0f / exponent);
	/* Nearly equal candidates have no exponent.  Then k is NaN or out of range, and only the
	 * best one is kept. */
	if (!(k >= 1.0f && k < K_MAX))
		choose(s, c, 1);
	else
		choose(s, c, k < (float)c->n ? (size_t)k : c->n);
}

static void apply_v2(void *state, struct lmd_cands *c)
{
	struct state *s = state;
	size_t n = 0;

	sampler_cands_sort(c);
	(void)sampler_cands_softmax(c); /* only for its effect on p */
	while (n < c->n && -log2f(c->v[n].p) <= s->mu)
		n++;
	choose(s, c, n ? n : 1);
}

static void accept(void *state, lmd_token token, bool prompt)
{
	struct state *s = state;
	float p = sampler_last_probs_get(&s->seen, token);

	if (prompt || p <= 0.0f)
		return;
	s->mu -= s->eta * (-log2f(p) - s->tau);
	sampler_last_probs_clear(&s->seen);
}

const struct lmd_sampler_ops sampler_mirostat = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
	.accept = accept,
	.reset = reset,
};

const struct lmd_sampler_ops sampler_mirostat_v2 = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = P_M, /* all except m */
	.params = params,
	.extra_bytes = bytes,
	.init = init_v2,
	.apply = apply_v2,
	.accept = accept,
	.reset = reset,
};
