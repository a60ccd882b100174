/* SPDX-License-Identifier: MIT
 *
 * temp_ext: a temperature that follows the entropy of the candidates.
 *
 * With the entropy H and H_max = ln n, the entropy of n equal candidates, the temperature is
 *     lo + (hi - lo) * (H / H_max)^exponent,   lo = max(0, t - delta), hi = t + delta.
 * With delta 0 it is a plain temperature. */
#include "temp.h"

enum { P_T, P_DELTA, P_EXPONENT };

struct state {
	float t, delta, exponent;
};

static const struct lmd_param params[] = {
	[P_T] = SAMPLER_PARAM_temp_ext_t,
	[P_DELTA] = SAMPLER_PARAM_temp_ext_delta,
	[P_EXPONENT] = SAMPLER_PARAM_temp_ext_exponent,
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
	s->t = (float)in->params[P_T].f;
	s->delta = (float)in->params[P_DELTA].f;
	s->exponent = (float)in->params[P_EXPONENT].f;
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	float lo = fmaxf(0.0f, s->t - s->delta), hi = s->t + s->delta;
	float share;

	if (!(s->delta > 0.0f)) {
		sampler_cands_temp(c, s->t);
		return;
	}
	if (c->n < 2)
		return;
	sampler_cands_sort(c);
	(void)sampler_cands_softmax(c); /* only for its effect on p */
	share = sampler_cands_entropy(c) / -logf(1.0f / (float)c->n);
	sampler_cands_temp(c, lo + (hi - lo) * powf(share, s->exponent));
}

const struct lmd_sampler_ops sampler_temp_ext = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
