/* SPDX-License-Identifier: MIT
 *
 * constrain_impl.h - a constraint as the engine and its generations use it, and its internals, which
 * constrain.c and jump_forward.c share. */
#ifndef LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H
#define LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H

#include <pthread.h>

#include "core/engine/constrain.h"
#include "core/engine/grammar_cache.h"
#include "core/grammar/grammar.h"
#include "core/text/token_healing.h"
#include "core/text/tokenizer.h"

/* Maximum number of prompt tokens that healing takes back. */
#define LMI_ENGINE_HEAL_TOKENS 4
/* Maximum number of tokens that are planned at a time and taken in one step. */
#define LMI_ENGINE_JUMP_MAX 64

/* Returns true if c has a grammar: the end of the grammar ends the answer. */
bool lmi_engine_constraint_has_end(const struct lmi_engine_constraint *c);
/* Returns the number of bytes at the start of the generated text that are not part of the
 * answer. */
size_t lmi_engine_constraint_healed(const struct lmi_engine_constraint *c);

/* ---- for generations, on the engine's thread ---- */

/* Returns the tokens that may come next, below *n (at most n_logits), as lmi_gr_state_mask does;
 * *mask NULL: all. */
enum lmd_status lmi_engine_constraint_mask(struct lmi_engine_constraint *c, uint32_t n_logits,
					   const uint64_t **mask, uint32_t *n);
/* LMD_INVALID if the token is not allowed. */
enum lmd_status lmi_engine_constraint_accept(struct lmi_engine_constraint *c, lmd_token token);

/* Returns the next token if there is no choice, or -1. before: the sequence so far. */
enum lmd_status lmi_engine_constraint_forced(struct lmi_engine_constraint *c, uint32_t n_logits,
					     const lmd_token *before, uint32_t n_before,
					     lmd_token *out);

/* The index of an engine's vocabulary, created on first use. */
struct lmi_engine_vocab_index {
	pthread_mutex_t lock;
	struct lmi_grammar_vocab *v; /* NULL: not yet created */
};
void lmi_engine_vocab_index_init(struct lmi_engine_vocab_index *x);
void lmi_engine_vocab_index_fini(struct lmi_engine_vocab_index *x);

/* ---- internals ---- */

/* Tokens of forced text that are planned and not yet taken. */
struct lmi_engine_planned_tokens {
	lmd_token token[LMI_ENGINE_JUMP_MAX];
	uint32_t n, at;
};

struct lmi_engine_constraint {
	struct lmi_engine *e;
	const struct lmi_tokenizer *tok;
	struct lmi_engine_grammar_lease lease; /* entry NULL: no grammar */
	struct lmi_grammar_state *state;       /* NULL: no grammar */
	uint32_t n_vocab;
	enum lmi_engine_jump jump;
	struct lmi_token_healing heal;
	uint64_t *heal_mask; /* for position heal_at, while healing; NULL: nothing was healed */
	size_t heal_at;
	struct lmi_engine_planned_tokens ahead;
};

/* Plans the tokens of forced text into c->ahead, or none if no token is certain; see
 * jump_forward.c. */
enum lmd_status lmi_engine_jump_forward_plan(struct lmi_engine_constraint *c,
					     const struct lmi_grammar_vocab *v,
					     const lmd_token *before, uint32_t n_before);

#endif /* LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H */
