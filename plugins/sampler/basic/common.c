/* SPDX-License-Identifier: MIT
 *
 * Probabilities of candidates, and the random choice. */
#include "common.h"

void sampler_cands_check_sorted(struct lmd_cands *c)
{
	for (size_t i = 1; c->sorted && i < c->n; i++)
		c->sorted = sampler_cand_before(&c->v[i - 1], &c->v[i]);
}

float sampler_cands_max(const struct lmd_cands *c)
{
	float max = -INFINITY;

	if (c->sorted)
		return sampler_logit(&c->v[0]);
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].logit > max)
			max = c->v[i].logit;
	}
	return max;
}

struct sampler_softmax sampler_cands_softmax(struct lmd_cands *c)
{
	struct sampler_softmax s = {.max = sampler_cands_max(c)};

	for (size_t i = 0; i < c->n; i++) {
		c->v[i].p = sampler_weight(&c->v[i], s.max);
		s.sum += c->v[i].p;
	}
	for (size_t i = 0; i < c->n; i++)
		c->v[i].p /= s.sum;
	return s;
}

float sampler_cands_entropy(const struct lmd_cands *c)
{
	float h = 0.0f;

	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].p > 0.0f)
			h -= c->v[i].p * logf(c->v[i].p);
	}
	return h;
}

size_t sampler_cands_draw_const(const struct lmd_cands *c, float u)
{
	float max = sampler_cands_max(c);
	double sum = 0.0, at = 0.0;
	size_t last = 0;

	for (size_t i = 0; i < c->n; i++)
		sum += (double)sampler_weight(&c->v[i], max);
	for (size_t i = 0; i < c->n && at <= (double)u * sum; i++) {
		float w = sampler_weight(&c->v[i], max);

		at += (double)w;
		last = w > 0.0f ? i : last;
	}
	return last;
}

size_t sampler_cands_draw(struct lmd_cands *c, float u)
{
	double sum = 0.0, at = 0.0;
	size_t last = 0;

	(void)sampler_cands_softmax(c); /* only for its effect on p */
	for (size_t i = 0; i < c->n; i++)
		sum += (double)c->v[i].p;
	for (size_t i = 0; i < c->n && at <= (double)u * sum; i++) {
		at += (double)c->v[i].p;
		last = c->v[i].p > 0.0f ? i : last;
	}
	return last;
}
