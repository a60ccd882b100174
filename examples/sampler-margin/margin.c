/* SPDX-License-Identifier: MIT
 *
 * A sampler in one page: keeps the candidates whose logit is at most `margin` below the best.  A
 * request selects it in its sampler chain with {"sampler": "margin", "margin": 3}:
 *     llamactl run FILE -p TEXT --chain '[{"sampler": "margin", "margin": 3}, "dist"]' */
#include <math.h>

#include <llamad/plugin.h>
#include <llamad/sampler.h>

struct state {
	float margin;
};

static const struct lmd_param params[] = {
	{.name = "margin",
	 .type = LMD_PARAM_FLOAT,
	 .def = 5,
	 .min = 0,
	 .max = 1000,
	 .doc = "Maximum distance of a candidate's logit from the best one."},
};

static enum lmd_status margin_init(void *state, const struct lmd_sampler_init *init,
				   struct lmd_error *err)
{
	struct state *s = state;

	(void)err; /* the host has checked the range */
	s->margin = (float)init->params[0].f;
	return LMD_OK;
}

static void margin_apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	float best = -INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].logit > best)
			best = c->v[i].logit;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].logit >= best - s->margin)
			c->v[n++] = c->v[i];
	/* at least one candidate remains, even if all logits are NaN */
	c->n = n ? n : 1;
}

static const struct lmd_sampler_ops ops = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.init = margin_init,
	.apply = margin_apply,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_SAMPLER,
	.name = "margin",
	.state_bytes = sizeof(struct state),
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("sampler-margin", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_SAMPLER), factories)
