/* SPDX-License-Identifier: MIT
 *
 * dry.h - sequence breakers of the sampler dry: find where the text was last interrupted. */
#ifndef LLAMAD_SAMPLER_DRY_H
#define LLAMAD_SAMPLER_DRY_H

#include <string.h>

#include "common.h"
#include "history.h"

/* Number of bytes of a breaker that are used; the rest is ignored. */
#define SAMPLER_BREAKER_TEXT 40
/* Largest number of tokens after the first one of a breaker. */
#define SAMPLER_BREAKER_TAIL 20

/* Breakers as tokens: each entry is a token that contains a breaker or ends with its beginning, and
 * the tokens that must follow it.  Contains no pointers. */
struct sampler_breakers;

/* Size in bytes for a list of texts (type STRS).  vocab NULL: for an empty list. */
size_t sampler_breakers_bytes(const struct lmd_sample_vocab *vocab,
			      const struct lmd_param_value *texts);
/* b: sampler_breakers_bytes() zeroed bytes. */
void sampler_breakers_init(struct sampler_breakers *b, const struct lmd_sample_vocab *vocab,
			   const struct lmd_param_value *texts);
/* Number of tokens at the end of the history after the last breaker; all of them if there is no
 * breaker. */
uint32_t sampler_breakers_limit(const struct sampler_breakers *b, const struct sampler_history *h);
/* Is this token a breaker by itself? */
bool sampler_breakers_has(const struct sampler_breakers *b, lmd_token id);

#endif /* LLAMAD_SAMPLER_DRY_H */
