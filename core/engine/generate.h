/* SPDX-License-Identifier: MIT
 *
 * generate.h - one generation: turns a row of logits into a token and text, and decides whether to
 * continue. */
#ifndef LLAMAD_CORE_ENGINE_GENERATE_H
#define LLAMAD_CORE_ENGINE_GENERATE_H

#include "core/engine/engine_job.h"
#include "core/engine/sample.h"
#include "core/engine/speculate.h"
#include "core/text/tokenizer.h"

struct lmi_engine_tree; /* draft_tree.h */

struct lmi_engine_constraint;
struct lmi_engine;
struct lmi_engine_gen;
struct lmi_engine_draft_want; /* draft_model.h */

/* Creates a generation with its sampler chain, which has accepted the prompt. seq: the sequence that
 * it continues, of at most `cap` tokens. Called on the submitting thread. */
enum lmd_status lmi_engine_gen_create(struct lmi_engine_gen **out, const struct lmi_inst *inst,
				      const struct lmi_sampler_vocab *vocab,
				      const struct lmi_engine_generate *cmd,
				      const struct lmi_engine_input_seq *seq, uint32_t cap,
				      struct lmd_error *err);
/* g may be NULL. */
void lmi_engine_gen_destroy(struct lmi_engine_gen *g);

/* Sets the constraint, or NULL, and takes ownership; the previous one belongs to the caller
 * again. */
void lmi_engine_gen_constrain(struct lmi_engine_gen *g, struct lmi_engine_constraint *own_c);

/* Takes the tokens that an earlier run took and that are the last of the sequence q. Call after
 * lmi_engine_gen_constrain. LMD_INVALID if the answer had ended before the last of them. */
enum lmd_status lmi_engine_gen_resume(struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
				      const lmd_token *tokens, uint32_t n, struct lmd_error *err);

/* Returns the maximum bytes of text that one token can release. */
size_t lmi_engine_gen_text_max(const struct lmi_tokenizer *tok);

/* Marks the start of its first step. Engine's thread; does not allocate. */
void lmi_engine_gen_begin(struct lmi_engine_gen *g, uint64_t now_ns);

/* The result of one row of logits. */
struct lmi_engine_gen_step {
	lmd_token token;
	const char *text; /* text released by the token; valid until the next call */
	size_t n_text;
	const struct lmi_engine_logprobs *logprobs; /* of the token; NULL: none requested */
	enum lmi_engine_finish finish; /* NONE: continue */
	bool is_full; /* the context has no room for the token: shift it */
};
/* Tokens that were chosen for a part and have yet to be reported: more than one if guesses were
 * right. */
struct lmi_engine_choice {
	bool on_device; /* the device chooses the token */
	bool chained;	/* the scheduler knows the token's row already */
	const float *logits; /* NULL: nothing is chosen here, or from these: */
	const int32_t *best; /* [n_best] ids of the best candidates; NULL: from the logits */
	const float *best_logits; /* [n_best] */
	bool is_short;       /* only they are copied */
	uint32_t n_row;	     /* rows of logits */
	/* further ones that do not count: of guesses beside a chain that were not masked */
	uint32_t n_beside;
	const struct lmi_engine_tree *tree; /* of the guesses; NULL: one chain */
	/* row `moved` of them, a guess beside the chain, takes the place of row moved_to; 0: none does */
	uint32_t moved, moved_to;
	uint32_t n_guess;    /* rows that are guesses, as far as they are of this choice */
	uint32_t n;	     /* tokens */
	enum lmd_status status; /* of the last token */
	lmd_token tokens[1 + LMI_ENGINE_DRAFT_MAX];
};

/* Chooses the next tokens from the rows of logits of a choice, from one to the next as long as the token is
 * among the guesses that follow, which are the tokens after the sequence's known ones; -1 if none is to be
 * generated. Stops early if finding what the constraint allows after a token takes time; `exact` finds it
 * nevertheless. Sets tokens, n >= 1, status, and what is moved. Uses nothing that it shares with other
 * generations, so it may run beside theirs. */
void lmi_engine_gen_choose(struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
			   struct lmi_engine_choice *c, uint32_t n_logits, bool exact);
/* Are n best candidates of a row of logits all that it needs to choose its next token? */
bool lmi_engine_gen_is_short(const struct lmi_engine_gen *g, uint32_t n);
/* Chooses the next token from them, as lmi_engine_gen_choose does from the row. */
enum lmd_status lmi_engine_gen_choose_best(struct lmi_engine_gen *g, const int32_t *ids,
					   const float *logits, uint32_t n, lmd_token *token);
/* Can a device choose its next token, after n_unread others that it has chosen and that have not been
 * taken? Returns the parameters, valid as long as g, and the step of its random numbers; NULL: no. */
const struct lmi_sampler_stages *lmi_engine_gen_stages(const struct lmi_engine_gen *g,
						       uint32_t n_unread, uint64_t *draw);
/* Could a device choose its tokens, if nothing is guessed? */
bool lmi_engine_gen_chains(const struct lmi_engine_gen *g);
/* Will it need another token after n_unread more, as far as can be told without knowing them? */
bool lmi_engine_gen_goes_on(const struct lmi_engine_gen *g, uint32_t n_unread);
/* Finds the tokens that its constraint allows next, if that takes next to no time. Returns false if
 * they remain unknown: find them before the next choice, on any thread. */
bool lmi_engine_gen_find_next(struct lmi_engine_gen *g, const struct lmi_engine_seq *q,
			      uint32_t n_logits);
/* Returns its constraint, or NULL. */
struct lmi_engine_constraint *lmi_engine_gen_constraint(struct lmi_engine_gen *g);
/* Appends the next of the chosen tokens to the sequence's tokens. chosen: its status; an error is
 * returned as it is. room: true if one more row can be computed. */
enum lmd_status lmi_engine_gen_take(struct lmi_engine_gen *g, struct lmi_engine_seq *q,
				    enum lmd_status chosen, lmd_token token, bool room,
				    uint64_t now_ns, struct lmi_engine_gen_step *out);
/* Takes the next token if it is forced; otherwise sets out->token to -1. Call after a step that did
 * not finish. */
enum lmd_status lmi_engine_gen_forced(struct lmi_engine_gen *g, struct lmi_engine_seq *q,
				      uint32_t n_logits, bool room, uint64_t now_ns,
				      struct lmi_engine_gen_step *out);
/* Guesses tokens and writes them after the sequence's known ones, at most `most`. Returns their
 * number. Call after a step that did not finish. */
uint32_t lmi_engine_gen_guess(struct lmi_engine_gen *g, struct lmi_engine_seq *q, uint32_t most,
			      const struct lmi_engine_step_times *times,
			      struct lmi_engine_draft_want *want);
/* Call in place of lmi_engine_gen_guess after a token whose next row is being computed already. Finds
 * out whether to guess again. */
void lmi_engine_gen_watch(struct lmi_engine_gen *g, const struct lmi_engine_seq *q, uint32_t most,
			  const struct lmi_engine_step_times *times);
/* Would it have guessed the last time if the host's work cost nothing? */
bool lmi_engine_gen_is_keen(const struct lmi_engine_gen *g);
/* Returns the branches of its last guess; NULL: it has none. */
const struct lmi_engine_tree *lmi_engine_gen_tree(const struct lmi_engine_gen *g);
/* Returns its drafter of lmi_engine_drafter_nextn, or NULL. */
void *lmi_engine_gen_nextn(const struct lmi_engine_gen *g);
/* Returns how many tokens of the prompt are where they were. */
uint32_t lmi_engine_gen_n_kept(const struct lmi_engine_gen *g);
/* Will a full context be shifted? */
bool lmi_engine_gen_shifts(const struct lmi_engine_gen *g);
/* Drops tokens from the middle of a sequence that is full, and appends one. Returns how many of its
 * first tokens are where they were. */
uint32_t lmi_engine_gen_shift(struct lmi_engine_gen *g, struct lmi_engine_seq *q, lmd_token token);
/* It has ended by itself, with these tokens: later generations may guess from its answer. */
void lmi_engine_gen_remember(struct lmi_engine_gen *g, const struct lmi_engine_seq *q);
/* Fills in counts and times of the final event. */
void lmi_engine_gen_report(const struct lmi_engine_gen *g, struct lmi_engine_event *ev);

#endif /* LLAMAD_CORE_ENGINE_GENERATE_H */
