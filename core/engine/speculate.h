/* SPDX-License-Identifier: MIT
 *
 * speculate.h - speculative decoding of one generation: its drafters, what their guesses were worth
 * so far, who guesses next, and how many tokens. */
#ifndef LLAMAD_CORE_ENGINE_SPECULATE_H
#define LLAMAD_CORE_ENGINE_SPECULATE_H

#include <stdbool.h>

#include "core/engine/command.h"
#include "core/engine/draft.h"

struct lmi_engine_speculation;
struct lmi_engine_draft_want; /* draft_model.h */
struct lmi_engine_history;    /* answer_history.h */
struct lmi_engine_lookup_file; /* lookup_file.h */
struct lmi_engine_nextn;       /* draft_nextn.h */
struct lmi_engine_tree;	       /* draft_tree.h */

/* What an engine has for its drafters; each may be NULL. */
struct lmi_engine_draft_sources {
	struct lmi_engine_draft_model *model;
	struct lmi_engine_nextn *nextn; /* used if there is no model */
	struct lmi_engine_history *history;
	const struct lmi_engine_lookup_file *file;
	bool lookahead; /* rows of a window may be computed */
};

/* Creates the drafters that a command asks for, for a sequence of at most `cap` tokens. Called on the
 * submitting thread.
 * *out: NULL if it asks for none. */
enum lmd_status lmi_engine_speculation_create(struct lmi_engine_speculation **out,
					      const struct lmi_engine_draft_sources *sources,
					      const struct lmi_engine_generate *cmd,
					      const struct lmi_engine_input_seq *seq, uint32_t cap,
					      struct lmd_error *err);
/* s may be NULL. */
void lmi_engine_speculation_destroy(struct lmi_engine_speculation *s);

/* Times of steps, by which the number of tokens is chosen. */
struct lmi_engine_step_times {
	uint32_t n_row; /* of the next step without guesses */
	double now_ns;  /* how long such steps took; 0: none was measured */
	/* how long a step of so many rows takes, or at least takes if none like it was measured, so that it is tried
	 * and measured; 0: nothing was */
	double (*ns)(const void *arg, uint32_t n_row);
	const void *arg;
	double move_ns; /* of moving the row of a guess beside the chain to its place */
	/* this sequence's share of the host's work on a step, which would be hidden without a guess:
	 * the device would go on by itself; 0: it would not */
	double host_ns;
	bool branches; /* guesses may have branches */
};

/* Guesses at most `most` tokens, as many as are expected to make the generation faster, and writes
 * them after tokens[n_tokens]. Returns their number. If the draft model or draft layers are to guess them, fills in *want
 * and returns 0: lmi_engine_tree_finish follows, if it has a tree. Otherwise want->drafter is NULL. */
uint32_t lmi_engine_speculation_guess(struct lmi_engine_speculation *s, lmd_token *tokens,
				      uint32_t n_tokens, uint32_t most,
				      const struct lmi_engine_step_times *times,
				      struct lmi_engine_draft_want *want);
/* Was no guess worth its time, so that the device may go on by itself? Would one have been if host_ns
 * were 0? Both are about the last call of _guess or _watch. */
bool lmi_engine_speculation_rests(const struct lmi_engine_speculation *s);
bool lmi_engine_speculation_is_keen(const struct lmi_engine_speculation *s);
/* Call in place of _guess after a token whose next row is being computed already. Finds out whether
 * to guess again, and compares what would have been guessed with what comes. */
void lmi_engine_speculation_watch(struct lmi_engine_speculation *s, const lmd_token *tokens,
				  uint32_t n_tokens, uint32_t most,
				  const struct lmi_engine_step_times *times);
/* Tells what became of the last guess: n tokens were computed, and the first n_accepted were right.
 * ended: the next one was not examined. */
void lmi_engine_speculation_learn(struct lmi_engine_speculation *s, uint32_t n,
				  uint32_t n_accepted, bool ended);

/* Tells of the last guess how many tokens beside the chain were computed, whether one of them was right, and which
 * token was chosen in place of token i of the chain; -1: none was. */
void lmi_engine_speculation_learn_others(struct lmi_engine_speculation *s, uint32_t n, bool right,
					 uint32_t i, lmd_token token);
/* Tells what was computed beside the last guess: logits[n_row][width] of a step that made n_new tokens. */
void lmi_engine_speculation_see(struct lmi_engine_speculation *s, const float *logits,
				uint32_t n_row, uint32_t width, uint32_t n_new);
/* Returns the branches and the window of the last guess; NULL: it has neither. */
const struct lmi_engine_tree *lmi_engine_speculation_tree(const struct lmi_engine_speculation *s);

/* The generation has ended; the last n_out of tokens[n_tokens] are its answer, which later generations of
 * the tenant look up. s may be NULL. */
void lmi_engine_speculation_remember(struct lmi_engine_speculation *s, const lmd_token *tokens,
				     uint32_t n_tokens, uint32_t n_out);

/* Returns the drafter of lmi_engine_drafter_nextn, or NULL. s may be NULL. */
void *lmi_engine_speculation_nextn(const struct lmi_engine_speculation *s);

/* The sequence begins again with other tokens. s may be NULL. */
void lmi_engine_speculation_restart(struct lmi_engine_speculation *s);

/* Number of tokens that were computed as guesses, and how many of them were right. */
void lmi_engine_speculation_count(const struct lmi_engine_speculation *s, uint32_t *n_drafted,
				  uint32_t *n_accepted);

#endif /* LLAMAD_CORE_ENGINE_SPECULATE_H */
