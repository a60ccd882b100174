/* SPDX-License-Identifier: MIT
 *
 * speculate_impl.h - the state of speculative decoding, shared by speculate.c and speculate_choose.c. */
#ifndef LLAMAD_CORE_ENGINE_SPECULATE_IMPL_H
#define LLAMAD_CORE_ENGINE_SPECULATE_IMPL_H

#include "core/engine/draft_tree.h"
#include "core/engine/speculate.h"

#define LMI_ENGINE_MAX_DRAFTER 3
/* How many tokens pass before a guess is tried that does not seem to help, at first. */
#define LMI_ENGINE_PAUSE_MIN 16u

/* How many guesses were examined lately, and how many of them were right. */
struct lmi_engine_guess_record {
	double tested, right;
};

/* A drafter and what its guesses were worth. */
struct lmi_engine_guess_source {
	const struct lmi_engine_drafter *ops;
	void *drafter;
	struct lmi_engine_guess_record trust[LMI_ENGINE_DRAFT_N_TRUST];
	/* of the next best tokens, when neither the guess nor better ones were right */
	struct lmi_engine_guess_record other[LMI_ENGINE_DRAFT_N_TRUST][LMI_ENGINE_TREE_OTHERS];
	uint32_t pause, n_paused; /* length of a pause; tokens of this one */
	/* steps with a window, and guesses that were right in them */
	struct lmi_engine_guess_record window;
	/* length of a pause; tokens of this one; steps to be tried after it */
	uint32_t window_pause, n_without, n_trial;
};

struct lmi_engine_speculation {
	struct lmi_engine_guess_source sources[LMI_ENGINE_MAX_DRAFTER];
	uint32_t n_source;
	uint32_t most; /* of the command */
	bool always, always_branches;
	uint32_t turn;             /* with `always`: guesses so far */
	uint32_t n_unmeasured;     /* tokens for which no step without guesses had been measured */
	uint32_t last, last_trust; /* who made the last guess */
	uint32_t n_drafted, n_accepted;
	struct lmi_engine_history *history; /* that gets the answer; NULL: none */
	uint64_t tenant;
	struct lmi_engine_tree tree; /* of the last guess */
	uint32_t window;             /* whose window is part of it */
	uint32_t n_right;            /* right guesses of the last step */
	bool rests;                  /* the last time, no guess was worth its time */
	bool keen;                   /* one would have been if the host's time were free */
	/* what a source would have guessed as the token number `at`; at 0: nothing */
	struct {
		uint32_t at, source, trust;
		lmd_token token;
	} idea;
};

/* What one drafter offers. */
struct lmi_engine_guess_offer {
	uint32_t n; /* tokens of a chain; of a drafter that costs time: at most, not yet guessed */
	uint32_t trust;
	uint32_t length; /* guesses that are worth it, with those beside the chain */
	double gain, cost_ns;
	lmd_token guess[LMI_ENGINE_DRAFT_MAX];
	struct lmi_engine_tree tree;
};

/* ---- speculate_choose.c ---- */

/* Lets a drafter offer guesses, at most `most`, and chooses how many of them are worth it. */
void lmi_engine_offer_ask(struct lmi_engine_speculation *s, struct lmi_engine_guess_source *x,
			  const lmd_token *tokens, uint32_t n_tokens, uint32_t most,
			  const struct lmi_engine_step_times *times,
			  struct lmi_engine_guess_offer *o);
/* Returns the drafter whose offer helps most, or one that is tried anyway; NULL: none. offers: [s->n_source] */
struct lmi_engine_guess_source *lmi_engine_offer_choose(struct lmi_engine_speculation *s,
							struct lmi_engine_guess_offer *offers,
							const struct lmi_engine_step_times *times);
/* A guess does not seem to help. Is it to be tried anyway after so many tokens? cost_ns: of one guessed token. */
bool lmi_engine_offer_is_due(const struct lmi_engine_guess_source *x, uint32_t n_paused,
			     double cost_ns, const struct lmi_engine_step_times *t);

/* Is a window beside n_guess guesses worth its time, or is it tried? */
bool lmi_engine_offer_window(struct lmi_engine_speculation *s, struct lmi_engine_guess_source *x,
			     uint32_t n_guess, const struct lmi_engine_step_times *times);

#endif /* LLAMAD_CORE_ENGINE_SPECULATE_IMPL_H */
