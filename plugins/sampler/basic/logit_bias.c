/* SPDX-License-Identifier: MIT
 *
 * logit_bias: adds a number to the logits of given tokens; minus infinity forbids a token, and so
 * does the list `suppress`.
 * Several entries for one token add up. */
#include "common.h"

#include <stdlib.h>

enum { P_BIAS, P_SUPPRESS };

struct state {
	uint32_t n, reserved;
	struct lmd_bias bias[]; /* sorted by id, each id once */
};

static const struct lmd_param params[] = {
	[P_BIAS] = SAMPLER_PARAM_logit_bias_bias,
	[P_SUPPRESS] = SAMPLER_PARAM_logit_bias_suppress,
};

static size_t bytes(const struct lmd_sampler_init *in)
{
	return sizeof(struct state) + ((size_t)in->params[P_BIAS].n + in->params[P_SUPPRESS].n) *
					      sizeof(struct lmd_bias);
}

static int by_id(const void *a, const void *b)
{
	const struct lmd_bias *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static enum lmd_status add(struct state *s, const struct lmd_sampler_init *in, lmd_token id,
			   float bias, struct lmd_error *err)
{
	if (id < 0 || (uint32_t)id >= in->n_vocab)
		return lmd_fail(err, LMD_INVALID,
				"logit_bias: token %d is outside the vocabulary of %u", id,
				in->n_vocab);
	if (bias != bias)
		return lmd_fail(err, LMD_INVALID,
				"logit_bias: the bias of token %d is not a number", id);
	s->bias[s->n++] = (struct lmd_bias){.id = id, .bias = bias};
	return LMD_OK;
}

static enum lmd_status init(void *state, const struct lmd_sampler_init *in, struct lmd_error *err)
{
	const struct lmd_param_value *p = &in->params[P_BIAS], *q = &in->params[P_SUPPRESS];
	enum lmd_status st = LMD_OK;
	struct state *s = state;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n && st == LMD_OK; i++)
		st = add(s, in, p->bias[i].id, p->bias[i].bias, err);
	for (uint32_t i = 0; i < q->n && st == LMD_OK; i++)
		st = add(s, in, q->tokens[i], -INFINITY, err);
	if (st != LMD_OK)
		return st;
	qsort(s->bias, s->n, sizeof(s->bias[0]), by_id);
	for (uint32_t i = 0; i < s->n; i++) {
		if (n && s->bias[n - 1].id == s->bias[i].id)
			s->bias[n - 1].bias += s->bias[i].bias;
		else
			s->bias[n++] = s->bias[i];
	}
	s->n = n;
	return LMD_OK;
}

static const struct lmd_bias *find(const struct state *s, lmd_token id)
{
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->bias[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n && s->bias[lo].id == id ? &s->bias[lo] : NULL;
}

static void apply(void *state, struct lmd_cands *c)
{
	const struct state *s = state;
	uint32_t missed = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (sampler_cand_is_at_own_index(c, s->bias[i].id))
			c->v[s->bias[i].id].logit += s->bias[i].bias;
		else
			missed++;
	}
	for (size_t i = 0; missed && i < c->n; i++) {
		const struct lmd_bias *b;

		if (sampler_cand_is_at_own_index(c, c->v[i].id))
			continue;
		b = find(s, c->v[i].id);
		if (b)
			c->v[i].logit += b->bias;
	}
	sampler_cands_check_sorted(c);
}

const struct lmd_sampler_ops sampler_logit_bias = {
	.struct_size = sizeof(struct lmd_sampler_ops),
	.n_params = LMD_LEN(params),
	.params = params,
	.extra_bytes = bytes,
	.init = init,
	.apply = apply,
};
