/* SPDX-License-Identifier: MIT
 *
 * constrain.h - constraints on one answer: a grammar that it follows, the text that token healing
 * requires, or both.
 *
 * Compiling a grammar is slow and happens on the caller's thread, not on the engine's; so do
 * creating the index of the engine's vocabulary and computing the mask of the first token. After that
 * a constraint belongs to one generation. Later masks that the matcher has not cached are computed by
 * worker threads beside the steps of the engine (mask_workers.h); a sequence whose mask is not ready
 * is left out of the next step. A grammar that uses up its share of time (state.c of core/grammar)
 * fails its own request. The tokens do not depend on the timing.
 *
 * Jump-forward decoding: where a constraint leaves no choice, tokens are taken without a row of
 * logits, and many of them are computed as rows of one step, like a prompt.
 *
 * LMI_ENGINE_JUMP_TOKEN takes a token if the mask allows no other. Any sampler would have chosen
 * it, whatever the logits; samplers with memory (mirostat) are told about it. The answer is the
 * same as without jumps, token for token, except that rows computed together may differ in their
 * last bits.
 *
 * LMI_ENGINE_JUMP_TEXT takes forced text (lmi_gr_state_forced) in the tokens that the tokenizer
 * produces for it. The text is tokenised together with the last tokens of the sequence, and is
 * taken only if these come out unchanged; at a boundary where they would merge into others, the
 * model chooses as usual. If something follows the forced text, its last token is left to the
 * model, and with it as many tokens before as together start a longer token of the vocabulary. The
 * answer follows the grammar, since the grammar accepts each token. But a model that would have
 * split the text into other tokens, or samplers that ban some of them, have no say, so what follows
 * may differ.
 *
 * Token healing: tokens at the end of a prompt are taken back, and the generation starts with their
 * text, in any tokens (core/text/token_healing.h). That text is not part of the answer: the grammar
 * starts after it. */
#ifndef LLAMAD_CORE_ENGINE_CONSTRAIN_H
#define LLAMAD_CORE_ENGINE_CONSTRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_engine_constraint;
struct lmi_engine;

/* The source of a grammar; exactly one of the first four has a non-NULL ptr. */
struct lmi_engine_grammar_source {
	struct lmd_str gbnf, schema, regex, structural_tag;
	const struct lmd_str *triggers; /* [n_triggers] */
	uint32_t n_triggers;
};

enum lmi_engine_jump {
	LMI_ENGINE_JUMP_TOKEN = 0,
	LMI_ENGINE_JUMP_TEXT = 1,
	LMI_ENGINE_JUMP_OFF = 2
};

struct lmi_engine_constrain_opts {
	/* At most one text of a grammar is set. triggers: regular expressions; the grammar applies
	 * from where the answer matches one of them; without triggers, from the start. See
	 * grammar.h. */
	struct lmi_engine_grammar_source grammar;
	enum lmi_engine_jump jump;
	bool heal; /* heal the end of the prompt; at least one of its tokens is kept */
	const lmd_token *prompt; /* [n_prompt] */
	size_t n_prompt;
	/* Tokens of the answer that an earlier run has taken, after which it goes on. */
	const lmd_token *resumed; /* [n_resumed] */
	size_t n_resumed;
};

/* Creates a constraint. Any thread. The engine must outlive it.
 * *n_kept: number of prompt tokens that are kept.
 * *out: NULL if there is no constraint: no grammar and nothing to heal.
 * The error message starts with "grammar", "json_schema", "regex" or "structural_tag". */
enum lmd_status lmi_engine_constrain(struct lmi_engine *e,
				     const struct lmi_engine_constrain_opts *o,
				     struct lmi_engine_constraint **out, size_t *n_kept,
				     struct lmd_error *err);
/* c may be NULL. */
void lmi_engine_constraint_destroy(struct lmi_engine_constraint *c);

#endif /* LLAMAD_CORE_ENGINE_CONSTRAIN_H */
