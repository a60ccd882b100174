/* SPDX-License-Identifier: MIT
 *
 * logprobs.h - log probabilities of a token and of the most likely ones, from a row of logits or
 * from the candidates that the samplers left.
 *
 * Nothing is allocated.  NaN counts as minus infinity.  Log probabilities below
 * LMI_ENGINE_LOGPROB_MIN are reported as that value, so that all of them are finite. */
#ifndef LLAMAD_CORE_ENGINE_LOGPROBS_H
#define LLAMAD_CORE_ENGINE_LOGPROBS_H

#include <stdint.h>

#include "core/engine/command.h"
#include "llamad/sampler.h"

#define LMI_ENGINE_LOGPROB_MIN -9999.0f

/* Returns the logarithm of the sum of exp(logits[i]); minus infinity if no logit is above it. */
double lmi_engine_log_sum_exp(const float *logits, uint32_t n);

/* Returns how many floats of scratch lmi_engine_logprobs_of_row() needs. */
uint32_t lmi_engine_logprobs_scratch(uint32_t n_logits);

/* Fills out->v[0] with `token` and v[1 ..] with the n - 1 most likely tokens, in descending order,
 * equal ones by lower id; fewer if there are fewer tokens.  n: 1 to LMI_ENGINE_LOGPROBS_MAX;
 * token < n_logits. */
void lmi_engine_logprobs_of_row(struct lmi_engine_logprobs *out, uint32_t n, const float *logits,
				uint32_t n_logits, lmd_token token, float *scratch);
/* Does the same with the probabilities of the remaining candidates.  Without candidates, `token` is
 * the only one. */
void lmi_engine_logprobs_of_cands(struct lmi_engine_logprobs *out, uint32_t n,
				  const struct lmd_cands *c, lmd_token token);

#endif /* LLAMAD_CORE_ENGINE_LOGPROBS_H */
