/* SPDX-License-Identifier: MIT
 *
 * greedy: chooses the candidate with the largest logit; the first one if several are equal. */
#include "common.h"

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	(void)state;
	(void)in;
	(void)err;
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	size_t best = 0;

	(void)state;
	if (!c->sorted) {
		for (size_t i = 1; i < c->n; i++) {
			if (sampler_logit(&c->v[i]) > sampler_logit(&c->v[best]))
				best = i;
		}
	}
	c->selected = (int64_t)best;
}

const struct lmd_sampler_ops sampler_greedy = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.init = init,
	.apply = apply,
};
