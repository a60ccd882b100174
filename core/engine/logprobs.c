/* SPDX-License-Identifier: MIT */
#include "core/engine/logprobs.h"

#include <math.h>

#include "core/engine/topk.h"

static float finite_or_min(double logprob)
{
	return logprob >= LMI_ENGINE_LOGPROB_MIN ? (float)logprob : LMI_ENGINE_LOGPROB_MIN;
}

double lmi_engine_log_sum_exp(const float *logits, uint32_t n)
{
	double sum = 0, most = -INFINITY;

	for (uint32_t i = 0; i < n; i++)
		most = logits[i] > most ? logits[i] : most;
	if (most == -INFINITY)
		return most;
	for (uint32_t i = 0; i < n; i++)
		sum += logits[i] > -INFINITY ? exp((double)logits[i] - most) : 0;
	return most + log(sum);
}

uint32_t lmi_engine_logprobs_scratch(uint32_t n_logits)
{
	return n_logits / LMI_SAMPLER_TOPK_BLOCK + 1;
}

/* Inserts a token into the sorted list v[1 .. *n), which has room for `max` entries. */
static void insert(struct lmi_engine_logprob *v, uint32_t *n, uint32_t max, lmd_token token, float x)
{
	uint32_t at = *n;

	while (at > 1 && (x > v[at - 1].logprob ||
			  (x == v[at - 1].logprob && token < v[at - 1].token)))
		at--;
	if (at == max)
		return;
	*n += *n < max;
	for (uint32_t i = *n - 1; i > at; i--)
		v[i] = v[i - 1];
	v[at] = (struct lmi_engine_logprob){.token = token, .logprob = x};
}

/* Turns the logits of out->v[0 .. n) into log probabilities. */
static void normalise(struct lmi_engine_logprobs *out, double log_sum)
{
	for (uint32_t i = 0; i < out->n; i++)
		out->v[i].logprob = finite_or_min(out->v[i].logprob - log_sum);
}

void lmi_engine_logprobs_of_row(struct lmi_engine_logprobs *out, uint32_t n, const float *logits,
				uint32_t n_logits, lmd_token token, float *scratch)
{
	struct lmd_cand best[LMI_ENGINE_LOGPROBS_MAX];
	size_t k = 0;

	out->v[0] = (struct lmi_engine_logprob){.token = token, .logprob = logits[token]};
	out->n = 1;
	if (n > 1)
		k = lmi_sampler_topk(logits, n_logits, NULL, n - 1, scratch, best);
	for (size_t i = 0; i < k; i++)
		out->v[out->n++] = (struct lmi_engine_logprob){.token = best[i].id,
							       .logprob = best[i].logit};
	for (uint32_t i = 0; i < n_logits && n > 1 && !k; i++)
		insert(out->v, &out->n, n, (lmd_token)i,
		       logits[i] == logits[i] ? logits[i] : -INFINITY);
	normalise(out, lmi_engine_log_sum_exp(logits, n_logits));
}

void lmi_engine_logprobs_of_cands(struct lmi_engine_logprobs *out, uint32_t n,
				  const struct lmd_cands *c, lmd_token token)
{
	float most = -INFINITY;
	double sum = 0;

	out->v[0] = (struct lmi_engine_logprob){.token = token};
	out->n = 1;
	if (!c->n) {
		if (n > 1)
			out->v[out->n++] = out->v[0];
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		most = c->v[i].logit > most ? c->v[i].logit : most;
		if (c->v[i].id == token)
			out->v[0].logprob = c->v[i].logit;
		if (n > 1)
			insert(out->v, &out->n, n, c->v[i].id, c->v[i].logit);
	}
	for (size_t i = 0; i < c->n && most > -INFINITY; i++)
		sum += exp((double)c->v[i].logit - most);
	normalise(out, most + log(sum));
}
