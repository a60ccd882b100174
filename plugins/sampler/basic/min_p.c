/* SPDX-License-Identifier: MIT
 *
 * min_p: keeps candidates that are at least p times as likely as the best one.  Since p_i / p_max
 * = exp(l_i - l_max), it compares logits with a bound. */
#include "common.h"

enum { P_P, P_MIN_KEEP };

struct state {
	float p;
	size_t min_keep;
};

static const struct lmd_param params[] = {
	[P_P] = SAMPLER_PARAM_min_p_p,
	[P_MIN_KEEP] = SAMPLER_PARAM_min_p_min_keep,
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

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	size_t n = 0;
	float bound;

	if (s->p <= 0.0f)
		return;
	bound = sampler_cands_max(c) + logf(s->p);
	for (size_t i = 0; i < c->n; i++)
		n += sampler_logit(&c->v[i]) >= bound;
	if (n < s->min_keep || !n) {
		n = s->min_keep ? s->min_keep : 1;
		if (n >= c->n)
			return;
		if (!c->sorted)
			sampler_cands_top(c->v, c->n, n);
		c->n = n;
		c->sorted = true;
		return;
	}
	if (!c->sorted) {
		size_t to = 0;

		for (size_t i = 0; i < c->n; i++) {
			if (sampler_logit(&c->v[i]) >= bound)
				c->v[to++] = c->v[i];
		}
	}
	c->n = n;
}

const struct lmd_sampler_ops sampler_min_p = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
