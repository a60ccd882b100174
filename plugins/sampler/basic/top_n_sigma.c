/* SPDX-License-Identifier: MIT
 *
 * top_n_sigma: logits more than n standard deviations below the largest one become -inf (Tang et
 * al., "Top-n-sigma: Not All Logits Are You Need").  Mean and deviation are those of the logits
 * above -inf. */
#include "common.h"

struct state {
	float n;
};

static const struct lmd_param params[] = {
	SAMPLER_PARAM_top_n_sigma_n,
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
	s->n = (float)in->params[0].f;
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	float max, mean = 0.0f, square = 0.0f, bound;
	size_t n = 0;

	if (s->n <= 0.0f || c->n < 2)
		return;
	max = sampler_cands_max(c);
	if (isinf(max))
		return;
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].logit > -INFINITY) {
			mean += c->v[i].logit;
			n++;
		}
	}
	mean /= (float)n;
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].logit > -INFINITY)
			square += (c->v[i].logit - mean) * (c->v[i].logit - mean);
	}
	bound = max - s->n * sqrtf(square / (float)n);
	for (size_t i = 0; i < c->n; i++) {
		if (sampler_logit(&c->v[i]) < bound)
			c->v[i].logit = -INFINITY;
	}
	sampler_cands_check_sorted(c);
}

const struct lmd_sampler_ops sampler_top_n_sigma = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
