/* SPDX-License-Identifier: MIT
 *
 * answer_history.h - the last answers of a model, in which drafters look up how an answer goes on.
 *
 * A tenant finds its own answers only. Memory is bounded and allocated when the model is opened: the
 * history has room for a number of tenants, and for each of them the last tokens of its answers. All
 * functions but create and destroy run on the engine's thread and allocate nothing. */
#ifndef LLAMAD_CORE_ENGINE_ANSWER_HISTORY_H
#define LLAMAD_CORE_ENGINE_ANSWER_HISTORY_H

#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

/* Tenants at a time; the one that added an answer the longest time ago makes room for another. */
#define LMI_ENGINE_HISTORY_TENANTS 8u
/* A tenant's answers are kept in two halves of so many tokens. When the newer one is full, the older one
 * is dropped. */
#define LMI_ENGINE_HISTORY_HALF 16384u

struct lmi_engine_history;

enum lmd_status lmi_engine_history_create(struct lmi_engine_history **out, struct lmd_error *err);
/* h may be NULL. */
void lmi_engine_history_destroy(struct lmi_engine_history *h);

/* Adds an answer, of which the last LMI_ENGINE_HISTORY_HALF - 1 tokens are kept. */
void lmi_engine_history_add(struct lmi_engine_history *h, uint64_t tenant, const lmd_token *tokens,
			    uint32_t n);
/* Guesses at most `most` tokens that follow tokens[n], as they followed more than *length tokens of an
 * answer of the tenant that agree. Writes them to out, sets *length to the number that agree, and returns the
 * number of guesses; 0 leaves *length as it is. */
uint32_t lmi_engine_history_guess(const struct lmi_engine_history *h, uint64_t tenant,
				  const lmd_token *tokens, uint32_t n, uint32_t most, lmd_token *out,
				  uint32_t *length);

#endif /* LLAMAD_CORE_ENGINE_ANSWER_HISTORY_H */
