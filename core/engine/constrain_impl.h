/* SPDX-License-Identifier: MIT
 *
 * constrain_impl.h - a constraint as the engine and its generations use it, and its internals, which
 * constrain.c and jump_forward.c share. */
#ifndef LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H
#define LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H

#include <pthread.h>

#include "core/engine/constrain.h"
#include "core/engine/grammar_cache.h"
#include "core/engine/mask_workers.h"
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

/* ---- for generations ---- */

/* What may come next. */
struct lmi_engine_next_tokens {
	enum lmd_status status;
	const uint64_t *mask; /* allowed tokens below n, as in lmi_gr_state_mask; NULL: all */
	uint32_t n;
	lmd_token forced; /* if there is no choice; otherwise -1 */
};

/* Maximum number of tokens of the sequence that its next ones depend on. */
#define LMI_ENGINE_JUMP_TAIL 4

/* Tells the constraint which token was chosen, and so that its next tokens are not known any more.
 * Takes no time: the token is accepted when they are found. */
void lmi_engine_constraint_take(struct lmi_engine_constraint *c, lmd_token token);
/* Returns the next tokens, or NULL if they are not known. Valid until the next take. */
const struct lmi_engine_next_tokens *
lmi_engine_constraint_next(const struct lmi_engine_constraint *c);
/* Prepares find: the sequence so far and the number of logits. */
void lmi_engine_constraint_look(struct lmi_engine_constraint *c, const lmd_token *before,
				uint32_t n_before, uint32_t n_logits);
/* Finds the next tokens if that takes next to no time, because the matcher has cached them. Returns
 * false if they remain unknown. */
bool lmi_engine_constraint_find_cached(struct lmi_engine_constraint *c);
/* Returns how much time, in some unit, its grammar has left of its share. */
uint64_t lmi_engine_constraint_share(const struct lmi_engine_constraint *c);
/* Finds the next tokens. One thread at a time, not necessarily the engine's. */
void lmi_engine_constraint_find(struct lmi_engine_constraint *c);

/* The index of an engine's vocabulary, created on first use. */
struct lmi_engine_vocab_index {
	pthread_mutex_t lock;
	struct lmi_grammar_vocab *v; /* NULL: not yet created */
};
void lmi_engine_vocab_index_init(struct lmi_engine_vocab_index *x);
void lmi_engine_vocab_index_fini(struct lmi_engine_vocab_index *x);

/* ---- internals ---- */

/* Tokens of forced text that are planned and not yet taken. */
struct lmi_engine_seq;
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
	/* the next tokens, and what they are found from */
	struct lmi_engine_next_tokens next;
	bool known;	 /* next is valid */
	lmd_token taken; /* a token that has yet to be accepted, or -1 */
	lmd_token tail[LMI_ENGINE_JUMP_TAIL];
	uint32_t n_tail, n_logits;
	/* finds them on another thread; while it is submitted, the constraint belongs to the job */
	struct lmi_engine_mask_job job;
	struct lmi_engine_seq *seq; /* of the job */
	uint64_t turn;		    /* of the engine, when the job was submitted */
	uint32_t n_resumed_forced;  /* of the tokens of an earlier run, those without a choice */
};

/* Plans the tokens of forced text into c->ahead, or none if no token is certain; see
 * jump_forward.c. */
enum lmd_status lmi_engine_jump_forward_plan(struct lmi_engine_constraint *c,
					     const struct lmi_grammar_vocab *v,
					     const lmd_token *before, uint32_t n_before);

#endif /* LLAMAD_CORE_ENGINE_CONSTRAIN_IMPL_H */
