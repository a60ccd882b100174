/* SPDX-License-Identifier: MIT
 *
 * adaptive_p: prefers candidates whose probability is near a target, and shifts the target so that
 * the chosen tokens have it on average.
 *
 * With S the sum and W the number of the probabilities chosen before, both multiplied by `decay`
 * in each step, the aim of this step is a = clamp(2 target - S / W, 0, 1), and
 *     logit = PEAK - SHARPNESS * d^2 / (1 + d),   d = |p - a| / WIDTH:
 * a parabola near the aim, a straight line far from it.  S and W start at their limits for a
 * sequence of choices that all have the target probability: target / (1 - decay) and
 * 1 / (1 - decay). */
#include "last_probs.h"

#define WIDTH     0.3f
#define PEAK      5.0f
#define SHARPNESS 10.0f

enum { P_TARGET, P_DECAY };

struct state {
	float target, decay, sum, weight;
	uint64_t seed;
	struct sampler_last_probs seen; /* followed by its array */
};

static const struct lmd_param params[] = {
	[P_TARGET] = { .name = "target", .type = LMD_PARAM_FLOAT, .def = -1, .min = -1, .max = 1,
		       .doc = "Target probability; negative = plain random choice." },
	[P_DECAY] = { .name = "decay", .type = LMD_PARAM_FLOAT, .def = 0.9, .min = 0, .max = 0.99,
		      .doc = "Factor on the weight of earlier tokens in each step." },
};

static size_t bytes(const struct lmd_sampler_init *in)
{
	return offsetof(struct state, seen) + sampler_last_probs_bytes(in->n_vocab);
}

static void reset(void *state)
{
	struct state *s = state;

	s->sum = s->target / (1.0f - s->decay);
	s->weight = 1.0f / (1.0f - s->decay);
	sampler_last_probs_clear(&s->seen);
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	struct state *s = state;

	(void)err;
	s->target = (float)in->params[P_TARGET].f;
	s->decay = (float)in->params[P_DECAY].f;
	s->seed = in->seed;
	s->seen.max = sampler_last_probs_max(in->n_vocab);
	reset(s);
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	struct state *s = state;
	float u = lmd_sample_rand(s->seed, c->step, SAMPLER_DRAW_DIST), aim;
	size_t i;

	if (s->target < 0.0f) {
		c->selected = (int64_t)sampler_cands_draw(c, u);
		return;
	}
	(void)sampler_cands_softmax(c); /* p keeps these values after the choice */
	sampler_last_probs_store(&s->seen, c);
	aim = fminf(fmaxf(2.0f * s->target - s->sum / s->weight, 0.0f), 1.0f);
	for (i = 0; i < c->n; i++) {
		float d = fabsf((c->v[i].p - aim) * (1.0f / WIDTH));

		if (sampler_logit(&c->v[i]) > -INFINITY)
			c->v[i].logit = PEAK - SHARPNESS * d * d / (1.0f + d);
	}
	c->sorted = false;
	i = sampler_cands_draw_const(c, u);
	sampler_last_probs_choose(&s->seen, c->v[i].id, c->v[i].p);
	c->selected = (int64_t)i;
}

static void accept(void *state, lmd_token token, bool prompt)
{
	struct state *s = state;
	float p = sampler_last_probs_get(&s->seen, token);

	if (prompt || p < 0.0f)
		return;
	s->sum = p + s->decay * s->sum;
	s->weight = 1.0f + s->decay * s->weight;
	sampler_last_probs_clear(&s->seen);
}

const struct lmd_sampler_ops sampler_adaptive_p = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
	.accept = accept,
	.reset = reset,
};
