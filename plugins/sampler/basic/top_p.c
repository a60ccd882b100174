/* SPDX-License-Identifier: MIT
 *
 * top_p: the shortest list of most likely candidates whose probabilities reach p
 * (nucleus sampling: Holtzman et al., "The Curious Case of Neural Text Degeneration").
 *
 * The list is usually short, so candidates are brought into order in growing portions
 * and the long tail is never sorted. */
#include "common.h"

#define FIRST_PORTION 256

enum { P_P, P_MIN_KEEP };

struct state {
	float p;
	size_t min_keep;
};

static const struct lmd_param params[] = {
	[P_P] = { .name = "p", .type = LMD_PARAM_FLOAT, .def = 0.95, .min = 0, .max = 1,
		  .doc = "Sum of probabilities to keep; 1 keeps all, 0 the best alone." },
	[P_MIN_KEEP] = LMI_PARAM_MIN_KEEP,
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
	size_t ordered = c->sorted ? c->n : 0;
	size_t portion = FIRST_PORTION;
	float sum = 0.0f;

	if (s->p >= 1.0f)
		return;
	(void)lmi_cands_softmax(c); /* the p are wanted */
	for (size_t i = 0; i < c->n; i++) {
		if (i == ordered) {
			size_t left = c->n - ordered;
			size_t k = portion < left ? portion : left;

			lmi_cands_top(c->v + ordered, left, k);
			ordered += k;
			portion *= 8;
		}
		sum += c->v[i].p;
		if (sum >= s->p && i + 1 >= s->min_keep) {
			c->n = i + 1;
			break;
		}
	}
	c->sorted = true;
}

const struct lmd_sampler_ops lmi_sampler_top_p = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
