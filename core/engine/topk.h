/* SPDX-License-Identifier: MIT
 *
 * topk.h - finds the largest logits of a row without making all of them candidates. */
#ifndef LLAMAD_CORE_ENGINE_TOPK_H
#define LLAMAD_CORE_ENGINE_TOPK_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"

/* Logits compared at a time: one word of a mask. */
#define LMI_TOPK_BLOCK 64
/* Largest k that is supported. */
#define LMI_TOPK_MAX 1024

/* Writes the k largest of logits[n] that the mask allows (NULL: all) to out, in descending order,
 * equal ones by lower id. NaN counts as minus infinity.
 *
 * scratch: [n / LMI_TOPK_BLOCK + 1]; out: room for k; k is 1 to LMI_TOPK_MAX.
 * return: k; 0 if this method does not apply: fewer blocks than k, or too few of them with a logit
 * above minus infinity.  Then out is undefined. */
size_t lmi_topk(const float *logits, size_t n, const uint64_t *mask, size_t k, float *scratch,
		struct lmd_cand *out);

/* Returns the first of the largest logits that the mask allows; n if it allows none. If no logit is
 * above minus infinity, returns the first one allowed. */
size_t lmi_argmax(const float *logits, size_t n, const uint64_t *mask);

#endif /* LLAMAD_CORE_ENGINE_TOPK_H */
