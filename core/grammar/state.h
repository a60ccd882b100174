/* SPDX-License-Identifier: MIT
 *
 * state.h - the state of one sequence in a matcher, and the triggers of lazy grammars. */
#ifndef LLAMAD_GRAMMAR_STATE_H
#define LLAMAD_GRAMMAR_STATE_H

#include "core/grammar/match.h"

/* A token of the text before the constraint starts. */
struct lmi_gr_piece {
	int32_t id;  /* -1: text without a token id */
	uint32_t at; /* offset of its text */
};

struct lmi_grammar_state {
	struct lmi_grammar_matcher *m;
	struct lmi_grammar_state *next, *prev;
	struct lmi_gr_match_cursor cursor;
	uint64_t budget; /* items of closures that it may still cause, see state.c */
	bool ended;   /* an end-of-generation token was accepted */
	bool waiting; /* a trigger has not occurred yet; the fields below are used until it does */
	char *text;   /* all text so far */
	struct lmi_gr_piece *piece;
	uint32_t *from; /* [patterns] where a match may still start */
	uint32_t n_text, cap_text, n_piece, cap_piece;
};

/* Accepts text as it is, without end-of-generation tokens. */
enum lmd_status lmi_gr_state_feed_text(struct lmi_grammar_state *s, const char *text, uint32_t n,
				       uint32_t *n_taken);
/* Accepts a token under the constraint. */
enum lmd_status lmi_gr_state_feed_token(struct lmi_grammar_state *s, lmd_token token);

/* Work that computes parser states for s is enclosed in these two. The second one returns st, or
 * LMD_TIMEOUT if it is LMD_NOMEM because the budget of s is used up. */
void lmi_gr_state_begin_work(struct lmi_grammar_state *s);
enum lmd_status lmi_gr_state_end_work(struct lmi_grammar_state *s, enum lmd_status st);

/* Triggers (trigger.c) */
enum lmd_status lmi_gr_trigger_create(struct lmi_gr_trigger **out,
				      const struct lmi_gr_matcher_opts *o, struct lmd_error *err);
void lmi_gr_trigger_destroy(struct lmi_gr_trigger *t);
uint32_t lmi_gr_trigger_patterns(const struct lmi_gr_trigger *t);
/* Handles a token, or text (token -1), while the state waits for a trigger. */
enum lmd_status lmi_gr_trigger_feed(struct lmi_grammar_state *s, lmd_token token, const char *text,
				    uint32_t n);

#endif /* LLAMAD_GRAMMAR_STATE_H */
