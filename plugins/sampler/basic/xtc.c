/* SPDX-License-Identifier: MIT
 *
 * xtc ("exclude top choices"): with probability p, removes all candidates at or above the
 * threshold except the least likely of them, so that one sensible choice always remains. */
#include "common.h"

enum { P_P, P_THRESHOLD, P_MIN_KEEP };

/* Above this, at most one candidate can reach the threshold. */
#define THRESHOLD_OFF 0.5f

struct state {
	float p, threshold;
	size_t min_keep;
	uint64_t seed;
};

static const struct lmd_param params[] = {
	[P_P] = SAMPLER_PARAM_xtc_p,
	[P_THRESHOLD] = SAMPLER_PARAM_xtc_threshold,
	[P_MIN_KEEP] = SAMPLER_PARAM_xtc_min_keep,
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
	s->threshold = (float)in->params[P_THRESHOLD].f;
	s->min_keep = (size_t)in->params[P_MIN_KEEP].i;
	s->seed = in->seed;
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	size_t last = 0;

	if (s->p <= 0.0f || s->threshold > THRESHOLD_OFF || c->n < 2 ||
	    lmd_sample_rand(s->seed, c->step, SAMPLER_DRAW_XTC) >= s->p)
		return;
	sampler_cands_sort(c);
	(void)sampler_cands_softmax(c); /* only for its effect on p */
	while (last + 1 < c->n && c->v[last + 1].p >= s->threshold)
		last++;
	if (c->n - last < s->min_keep)
		return;
	for (size_t i = last; i < c->n; i++)
		c->v[i - last] = c->v[i];
	c->n -= last;
}

const struct lmd_sampler_ops sampler_xtc = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
