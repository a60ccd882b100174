/* SPDX-License-Identifier: MIT
 *
 * draft_tree.h - guesses with branches: a chain of tokens and, beside some of them, the next best tokens in
 * their place.
 *
 * A step computes all of them: first the chain, then the others in the order of their places (draft rows,
 * row 0 is that of the last known token). Rows see only the tokens before them on their own branch, by
 * the mask of a plan with LMD_PLAN_TREE. So the row of each guess has the same logits as if its branch were the
 * whole guess. Tokens are chosen from row to row as long as the chosen one is among the guesses that follow;
 * that leaves every answer and every distribution as it is, for the chain and the branches alike. The row of an
 * accepted guess beside the chain is then moved to where the chain's would have been.
 *
 * Rows of a window (draft.h) come after those of the guesses. They are no guesses, and no token is chosen from them.
 *
 * Where rows cannot be masked, the same rows are computed as one chain, which is right as well. */
#ifndef LLAMAD_CORE_ENGINE_DRAFT_TREE_H
#define LLAMAD_CORE_ENGINE_DRAFT_TREE_H

#include <stdbool.h>

#include "core/engine/command.h"

struct lmi_engine_rows;
struct lmi_engine_step_times;
struct lmi_inst;
struct lmd_plan;

/* Guesses beside one of the chain. */
#define LMI_ENGINE_TREE_OTHERS 2u
/* Rows of one sequence in a step whose rows are masked. */
#define LMI_ENGINE_TREE_ROWS 64u

struct lmi_engine_tree {
	uint32_t n_chain;
	uint8_t n_other[LMI_ENGINE_DRAFT_MAX]; /* how many tokens beside token i of the chain are guesses: */
	/* the next best ones in its place, the best first; -1: unknown */
	lmd_token other[LMI_ENGINE_DRAFT_MAX][LMI_ENGINE_TREE_OTHERS];
	uint32_t n_window;
	uint8_t after[LMI_ENGINE_DRAFT_MAX]; /* [n_window] as in struct lmi_engine_drafter */
};

/* ---- which guesses are made ---- */

/* How probable guesses are. */
struct lmi_engine_tree_chances {
	double chain; /* that a token of the chain is right if those before it are */
	double other[LMI_ENGINE_TREE_OTHERS]; /* that one is, if neither the chain's nor better ones are */
	uint32_t n_chain;  /* at most so many tokens */
	uint32_t n_beside; /* of which the first so many may have others beside them */
	uint32_t n_others; /* at most so many each */
};

/* Chooses how many tokens to guess, at most `most`, and which: those that make a step fastest for the tokens
 * that are expected of it, with host_ns added to its time and cost_ns for each token of the chain. No choice is
 * better, as long as no token beside the chain is more probable than the chain's and moving a row takes no time.
 * Chooses none if other steps were measured, but none without guesses. Fills in n_chain and n_other. Returns the number of guesses; 0: none of them is worth its time. *gain: by which factor the step becomes faster;
 * without guesses, the factor that they would have to exceed. */
uint32_t lmi_engine_tree_choose(struct lmi_engine_tree *t, const struct lmi_engine_tree_chances *c,
				uint32_t most, double cost_ns, double host_ns,
				const struct lmi_engine_step_times *times, double *gain);

/* Returns how many guesses a tree has. t may be NULL: none. */
uint32_t lmi_engine_tree_n_guess(const struct lmi_engine_tree *t);
/* Without guesses, and without a window. The tokens beside the chain stay known, or (clear) become unknown. */
void lmi_engine_tree_clear_shape(struct lmi_engine_tree *t);
void lmi_engine_tree_clear(struct lmi_engine_tree *t);
/* The chain has been guessed, out[n_chain]: adds those beside it that are known, at most up to out[most].
 * Returns the number of guesses. */
uint32_t lmi_engine_tree_finish(struct lmi_engine_tree *t, lmd_token *out, uint32_t n_chain,
				uint32_t most);
/* Returns the best token of logits[n], and notes the next best ones beside token i of the chain. The best
 * logits are overwritten. map: [n] other numbers of the tokens; NULL: the same. t may be NULL. */
lmd_token lmi_engine_tree_rank(struct lmi_engine_tree *t, uint32_t i, float *logits, uint32_t n,
			       const lmd_token *map);

/* ---- rows: t NULL is one chain ---- */

/* Returns the row after `row` whose guess is this token; 0: none of the guesses[n] is. */
uint32_t lmi_engine_tree_next(const struct lmi_engine_tree *t, const lmd_token *guesses, uint32_t n,
			      uint32_t row, lmd_token token);
/* Returns by how many tokens a row comes after the last known one. */
uint32_t lmi_engine_tree_depth(const struct lmi_engine_tree *t, uint32_t row);
/* Returns which rows a row sees: bit i for row i. */
uint64_t lmi_engine_tree_sees(const struct lmi_engine_tree *t, uint32_t row);

/* ---- draft_tree_rows.c ---- */

/* LMD_UNSUPPORTED: the rows of steps with this plan, the one that most requests use, cannot be masked; the message
 * says why. */
enum lmd_status lmi_engine_tree_check(const struct lmi_inst *inst, const struct lmd_plan *p,
				      struct lmd_error *err);

/* Prepares the plan that masks rows, for an instance whose drafters may guess with branches. Without one, because
 * the architecture's plan does not fit or there is no memory, guesses have no branches. No step may be running. */
void lmi_engine_tree_open(struct lmi_inst *inst);
/* Can steps of a plan mask rows? */
bool lmi_engine_tree_serves(const struct lmi_inst *inst, uint32_t exec);
/* Moves the keys and values of row `from` of a sequence, which a step has computed, to row `to`, in all
 * groups. Waits until the devices that have them have read them. */
enum lmd_status lmi_engine_tree_move(struct lmi_inst *inst, uint32_t kv_seq, uint32_t from, uint32_t to,
				     struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_DRAFT_TREE_H */
