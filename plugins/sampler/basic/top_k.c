/* SPDX-License-Identifier: MIT
 *
 * top_k: keeps only the k candidates with the largest logits. */
#include "common.h"

struct state {
	int64_t k;
};

static const struct lmd_param params[] = {
	SAMPLER_PARAM_top_k_k,
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
	s->k = in->params[0].i;
	return LMD_OK;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;

	if (s->k <= 0 || (uint64_t)s->k >= c->n)
		return;
	if (!c->sorted)
		sampler_cands_top(c->v, c->n, (size_t)s->k);
	c->n = (size_t)s->k;
	c->sorted = true;
}

const struct lmd_sampler_ops sampler_top_k = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
