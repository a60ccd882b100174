/* SPDX-License-Identifier: MIT
 *
 * dist: chooses one candidate at random with the probabilities of the softmax. */
#include "common.h"

struct state {
	uint64_t seed;
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
	s->seed = in->seed;
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;

	c->selected = (int64_t)sampler_cands_draw(
		c, lmd_sample_rand(s->seed, c->step, SAMPLER_DRAW_DIST));
}

const struct lmd_sampler_ops sampler_dist = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
