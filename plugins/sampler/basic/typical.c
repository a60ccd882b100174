/* SPDX-License-Identifier: MIT
 *
 * typical: keeps the candidates whose surprise is closest to the entropy, until their
 * probabilities exceed p (Meister et al., "Locally Typical Sampling").
 *
 * The member p of a candidate first holds its probability and then its distance from the entropy
 * as the sort key.  The probability is computed again from the logit with the same operations, so
 * it has the same bits. */
#include "common.h"

enum { P_P, P_MIN_KEEP };

struct state {
	float p;
	size_t min_keep;
};

static const struct lmd_param params[] = {
	[P_P] = SAMPLER_PARAM_typical_p,
	[P_MIN_KEEP] = SAMPLER_PARAM_typical_min_keep,
};

static size_t bytes(const struct lmd_sampler_init *in)
{
	(void)in;
	return sizeof(struct state);
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	struct state *s = state;

	(void)err;
	s->p = (float)in->params[P_P].f;
	s->min_keep = (size_t)in->params[P_MIN_KEEP].i;
	return LMD_OK;
}

/* Returns the entropy of the candidates as sampler_cands_entropy computes it; each p becomes its
 * logarithm. */
static float to_logs(struct lmd_cands *c)
{
	float h = 0.0f;

	for (size_t i = 0; i < c->n; i++) {
		float p = c->v[i].p, l = logf(p);

		if (p > 0.0f)
			h -= p * l;
		c->v[i].p = l;
	}
	return h;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	float entropy, sum = 0.0f;
	struct sampler_pieces pieces;
	struct sampler_softmax sm;
	size_t ordered = 0;

	if (s->p >= 1.0f)
		return;
	sampler_cands_sort(c);
	sm = sampler_cands_softmax(c);
	entropy = to_logs(c);
	for (size_t i = 0; i < c->n; i++)
		c->v[i].p = fabsf(-c->v[i].p - entropy);
	sampler_pieces_by_p(&pieces, c->v, c->n);
	c->sorted = false;
	for (size_t i = 0; i < c->n; i++) {
		if (i == ordered)
			ordered = sampler_pieces_next(&pieces, c->v);
		c->v[i].p = sampler_probability(&c->v[i], sm);
		sum += c->v[i].p;
		if (sum > s->p && i + 1 >= s->min_keep)
			c->n = i + 1;
	}
}

const struct lmd_sampler_ops sampler_typical = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
