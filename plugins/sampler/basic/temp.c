/* SPDX-License-Identifier: MIT
 *
 * temp: divides logits by a temperature.  A temperature of zero or less keeps only the largest. */
#include "temp.h"

struct state {
	float t;
};

static const struct lmd_param params[] = {
	SAMPLER_PARAM_temp_t,
};

void sampler_cands_temp(struct lmd_cands *c, float t)
{
	size_t best = 0;

	if (t > 0.0f) {
		for (size_t i = 0; i < c->n; i++)
			c->v[i].logit /= t;
		sampler_cands_check_sorted(c);
		return;
	}
	for (size_t i = 1; i < c->n; i++) {
		size_t worse = i;

		if (sampler_logit(&c->v[i]) > sampler_logit(&c->v[best])) {
			worse = best;
			best = i;
		}
		c->v[worse].logit = -INFINITY;
	}
	sampler_cands_check_sorted(c);
}

static size_t bytes(const struct lmd_sampler_init *in)
{
	(void)in;
	return sizeof(struct state);
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	struct state *s = state;

	(void)err;
	s->t = (float)in->params[0].f;
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;

	sampler_cands_temp(c, s->t);
}

const struct lmd_sampler_ops sampler_temp = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
