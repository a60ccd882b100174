/* SPDX-License-Identifier: MIT
 *
 * dry.h - sequence breakers of the sampler dry: where the text was cut last. */
#ifndef LLAMAD_SAMPLER_DRY_H
#define LLAMAD_SAMPLER_DRY_H

#include <string.h>

#include "common.h"
#include "history.h"

/* Bytes of a breaker that count. */
#define LMI_BREAKER_TEXT 40
/* Tokens behind the first that a breaker may have. */
#define LMI_BREAKER_TAIL 20

/* Breakers as tokens: a token that ends or contains the begin of a breaker, and the tokens
 * that must follow it.  Without pointers. */
struct lmi_breakers;

/* Bytes for a list of texts (type STRS); vocab NULL: for none. */
size_t lmi_breakers_bytes(const struct lmd_sample_vocab *vocab,
			  const struct lmd_value_param *texts);
/* b: zeroed, so many bytes. */
void lmi_breakers_init(struct lmi_breakers *b, const struct lmd_sample_vocab *vocab,
		       const struct lmd_value_param *texts);
/* Number of tokens at the end of the history behind the last breaker; all of them if there
 * is none. */
uint32_t lmi_breakers_limit(const struct lmi_breakers *b, const struct lmi_history *h);
/* Is this token a breaker by itself? */
bool lmi_breakers_has(const struct lmi_breakers *b, lmd_token id);

#endif /* LLAMAD_SAMPLER_DRY_H */
