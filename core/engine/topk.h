/* SPDX-License-Identifier: MIT
 *
 * topk.h - the greatest of a row of logits, without making candidates of all. */
#ifndef LLAMAD_CORE_ENGINE_TOPK_H
#define LLAMAD_CORE_ENGINE_TOPK_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/sampler.h"

/* Logits that are compared at a time: one word of a mask. */
#define LMI_TOPK_BLOCK 64
/* The greatest k that this is for. */
#define LMI_TOPK_MAX 1024

/* The k greatest of logits[n] that the mask allows (NULL: all), greatest first, equal ones by
 * lower id, into out.  NaN counts as minus infinity.
 *
 * scratch: [n / LMI_TOPK_BLOCK + 1]; out: room for k; k is 1 to LMI_TOPK_MAX.
 * return: k; 0 when it is not the way: fewer blocks than k, or too few of them with a logit above
 * minus infinity.  Then nothing was found out. */
size_t lmi_topk(const float *logits, size_t n, const uint64_t *mask, size_t k, float *scratch,
		struct lmd_cand *out);

/* The first of the greatest logits that the mask allows; n: it allows none.  Without a logit above
 * minus infinity the first that is allowed. */
size_t lmi_argmax(const float *logits, size_t n, const uint64_t *mask);

#endif /* LLAMAD_CORE_ENGINE_TOPK_H */
