/* SPDX-License-Identifier: MIT
 *
 * draft.h - drafters: they guess the next tokens of a sequence for speculative decoding.
 *
 * The engine computes the guessed tokens in one step, together with the last token, and samples the
 * row of each as if it had been computed alone. It keeps the guesses that equal the sampled tokens,
 * so a drafter never changes an answer, only how soon it comes.
 *
 * A new drafter is one file and one row of the table in speculate.c. */
#ifndef LLAMAD_CORE_ENGINE_DRAFT_H
#define LLAMAD_CORE_ENGINE_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/command.h"

struct lmi_engine_draft_model;
struct lmi_engine_history;
struct lmi_engine_lookup_file;
struct lmi_engine_nextn;

/* How sure a drafter is of a guess: 0 to LMI_ENGINE_DRAFT_N_TRUST - 1. The engine measures what each
 * level is worth. */
#define LMI_ENGINE_DRAFT_N_TRUST 8

struct lmi_engine_draft_opts {
	const lmd_token *prompt; /* [n_prompt] */
	uint32_t n_prompt;
	uint32_t cap; /* maximum length of the sequence, prompt included */
	/* of the engine; NULL: none */
	struct lmi_engine_draft_model *model;
	struct lmi_engine_nextn *nextn;
	const struct lmi_engine_history *history;
	const struct lmi_engine_lookup_file *file;
	uint64_t tenant; /* with whom rows of the draft model and earlier answers are shared */
	bool caches;	 /* they are shared */
	/* [n_hint] a text that the answer is expected to resemble; copied. n_hint may be 0 */
	const lmd_token *hint;
	uint32_t n_hint;
};

struct lmi_engine_drafter {
	const char *name;
	/* Called on the submitting thread. */
	enum lmd_status (*create)(void **out, const struct lmi_engine_draft_opts *opts,
				  struct lmd_error *err);
	/* Guesses at most `most` tokens that follow tokens[n_tokens], which start with the prompt and
	 * have not become fewer since the last call. Writes them to out and returns their number.
	 * Engine's thread; allocates nothing. NULL: sequences guess together, by
	 * lmi_engine_draft_model_guess or lmi_engine_nextn_guess. */
	uint32_t (*guess)(void *drafter, const lmd_token *tokens, uint32_t n_tokens, uint32_t most,
			  lmd_token *out, uint32_t *trust);
	/* After `guess` had guessed `first`: finds the next best tokens in its place, the best first, and writes
	 * them to out[LMI_ENGINE_TREE_OTHERS]. NULL: there are none. */
	void (*others)(void *drafter, const lmd_token *tokens, uint32_t n_tokens, lmd_token first,
		       lmd_token *out);
	/* A window: tokens whose rows a step computes beside its guesses, and which are none; what they predict is told
	 * to `see`. Writes them to out[n_window], and to after[n_window] the row that each comes after: 0: that of
	 * the last known token, k: row k - 1 of the window, which is before it. Engine's thread; allocates nothing.
	 * NULL: there is none. */
	void (*window)(void *drafter, const lmd_token *tokens, uint32_t n_tokens, lmd_token *out,
		       uint8_t *after);
	/* The last window was computed in a step that made n_new tokens. next: [n_window] the best token after each
	 * row that no other comes after; otherwise, and if it is not known, -1. */
	void (*see)(void *drafter, const lmd_token *next, uint32_t n_new);
	uint32_t n_window;
	double window_prior; /* how many guesses more a step with a window is taken to have right, at first */
	/* The measured time of one guessed token, with its part of what the drafter has to catch up with;
	 * 0: unknown; negative: it guesses nothing. NULL: guesses take no time worth mentioning. */
	double (*cost_ns)(const void *drafter, uint32_t n_tokens);
	void (*destroy)(void *drafter); /* may be NULL */
	/* What guesses of each trust level are taken to be worth at first: as if so many had been examined, of which
	 * so many were right. Zeroed: the engine's default. */
	struct {
		double tested, right;
	} prior[LMI_ENGINE_DRAFT_N_TRUST];
	/* The sequence begins again with other tokens, which the next call of guess has. Engine's
	 * thread; allocates nothing. */
	void (*restart)(void *drafter);
};

extern const struct lmi_engine_drafter lmi_engine_drafter_lookup;
extern const struct lmi_engine_drafter lmi_engine_drafter_lookahead; /* needs masked rows */
extern const struct lmi_engine_drafter lmi_engine_drafter_model; /* needs a draft model */
extern const struct lmi_engine_drafter lmi_engine_drafter_nextn; /* needs draft layers */

#endif /* LLAMAD_CORE_ENGINE_DRAFT_H */
