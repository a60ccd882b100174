/* SPDX-License-Identifier: MIT
 *
 * state.h - one sequence in a matcher, and the triggers of lazy grammars. */
#ifndef LLAMAD_GRAMMAR_STATE_H
#define LLAMAD_GRAMMAR_STATE_H

#include "core/grammar/match.h"

/* A token of the text before the constraint. */
struct lmi_piece {
	int32_t id;  /* -1: text alone */
	uint32_t at; /* where its text begins */
};

struct lmi_gstate {
	struct lmi_matcher *m;
	struct lmi_gstate *next, *prev;
	struct lmi_spot spot;
	bool ended;   /* an end of generation was taken */
	bool waiting; /* for a trigger; what follows is used until it comes */
	char *text;   /* all of it so far */
	struct lmi_piece *piece;
	uint32_t *from; /* [patterns] where a match may still begin */
	uint32_t n_text, cap_text, n_piece, cap_piece;
};

/* Takes text as it is, without end of generation. */
enum lmd_status lmi_gstate_take_text(struct lmi_gstate *s, const char *text, uint32_t n,
				     uint32_t *n_taken);
/* Takes a token under the constraint. */
enum lmd_status lmi_gstate_take_token(struct lmi_gstate *s, lmd_token token);

/* Triggers (lazy.c) */
enum lmd_status lmi_trigger_create(struct lmi_trigger **out, const struct lmi_matcher_opts *o,
				   struct lmd_error *err);
void lmi_trigger_destroy(struct lmi_trigger *t);
uint32_t lmi_trigger_patterns(const struct lmi_trigger *t);
/* A token, or text (token -1), while the state waits. */
enum lmd_status lmi_trigger_take(struct lmi_gstate *s, lmd_token token, const char *text,
				 uint32_t n);

#endif /* LLAMAD_GRAMMAR_STATE_H */
