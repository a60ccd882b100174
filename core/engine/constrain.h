/* SPDX-License-Identifier: MIT
 *
 * constrain.h - what one answer must be: a grammar that it follows, the text that it heals, or
 * both.
 *
 * Compiling is slow and happens where the caller is, off the engine's thread; so does the first
 * look at the engine's vocabulary.  From then on it belongs to one generation.  What the grammar
 * remembers grows while it is used: the token path of such an answer allocates.
 *
 * Jump-forward.  Where a constraint leaves no choice, tokens are taken without a row of logits, and
 * many of them are computed as rows of one step, like a prompt.
 *
 * LMI_JUMP_TOKEN takes a token when the mask allows no other.  Any sampler would have chosen it,
 * whatever the logits; samplers that remember (mirostat) are told so.  The answer is the one
 * without jumps, token for token, but for what rows that are computed together may differ in their
 * last bits.
 *
 * LMI_JUMP_TEXT takes text that is forced (lmi_gstate_forced), in the tokens that the tokenizer has
 * for it.  The text is tokenised behind the last tokens of the sequence, and is taken only when
 * they come out again as they are: at a border where they would become others, the model chooses as
 * usual.  Where something goes on behind the forced text, its last token is held back, and as many
 * before it as together begin a longer token of the vocabulary: these are left to the model.  The
 * answer follows the grammar, since each token is taken by it; but a model that would have spelled
 * the text in other tokens, or samplers that ban some of these, are not asked, so what comes behind
 * may differ.
 *
 * Healing.  Tokens at the end of a prompt are taken back, and what is generated begins with their
 * text, in whichever tokens (core/text/heal.h).  That text is no part of the answer: the grammar
 * begins behind it. */
#ifndef LLAMAD_CORE_ENGINE_CONSTRAIN_H
#define LLAMAD_CORE_ENGINE_CONSTRAIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/compiled.h"
#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_constraint;
struct lmi_engine;
struct lmi_gvocab;

/* Tokens of a prompt that healing takes back at most. */
#define LMI_HEAL_TOKENS 4
/* Tokens that are planned at a time, and taken in one step at most. */
#define LMI_JUMP_MAX 64

enum lmi_jump {
	LMI_JUMP_TOKEN = 0,
	LMI_JUMP_TEXT = 1,
	LMI_JUMP_OFF = 2
};

struct lmi_constrain_opts {
	/* gbnf and schema: one or none; triggers: regular expressions, the grammar counts from
	 * where the answer matches one of them; none: from the beginning.  See grammar.h. */
	struct lmi_grammar_source grammar;
	enum lmi_jump jump;
	bool heal; /* the end of the prompt; one of its tokens stays at least */
	const lmd_token *prompt; /* [n_prompt] */
	size_t n_prompt;
};

/* *n_kept: tokens of the prompt that stay.
 * *out NULL: nothing is to be kept to, since there is no grammar and nothing to heal.
 * The sentence of a failure begins with "grammar" or "json_schema".  The engine outlives it.  Any
 * thread. */
enum lmd_status lmi_engine_constrain(struct lmi_engine *e, const struct lmi_constrain_opts *o,
				     struct lmi_constraint **out, size_t *n_kept,
				     struct lmd_error *err);
/* NULL allowed. */
void lmi_constraint_destroy(struct lmi_constraint *c);

/* It has a grammar: behind that one's end comes nothing. */
bool lmi_constraint_has_end(const struct lmi_constraint *c);
/* Bytes that the answer begins with and that are no part of it. */
size_t lmi_constraint_healed(const struct lmi_constraint *c);

/* ---- for generations, on the engine's thread ---- */

/* Tokens below *n, at most n_logits, that may come next, as lmi_gstate_mask has it; *mask NULL:
 * all. */
enum lmd_status lmi_constraint_mask(struct lmi_constraint *c, uint32_t n_logits,
				    const uint64_t **mask, uint32_t *n);
/* LMD_INVALID: it may not come. */
enum lmd_status lmi_constraint_accept(struct lmi_constraint *c, lmd_token token);

/* The token that comes next without a choice, or -1.  before: the sequence so far. */
enum lmd_status lmi_constraint_forced(struct lmi_constraint *c, uint32_t n_logits,
				      const lmd_token *before, uint32_t n_before, lmd_token *out);

/* The index of an engine's vocabulary, made when it is first needed. */
struct lmi_vocab_index {
	pthread_mutex_t lock;
	struct lmi_gvocab *v; /* NULL: not yet */
};
void lmi_vocab_index_init(struct lmi_vocab_index *x);
void lmi_vocab_index_fini(struct lmi_vocab_index *x);

#endif /* LLAMAD_CORE_ENGINE_CONSTRAIN_H */
