/* SPDX-License-Identifier: MIT
 *
 * The state of one sequence in a matcher. */
#include "core/grammar/state.h"

#include <string.h>

#include "core/base/alloc.h"

enum lmd_status lmi_gstate_create(struct lmi_gstate **out, struct lmi_matcher *m,
				  struct lmd_error *err)
{
	struct lmi_gstate *s = lmi_alloc(1, sizeof(*s));
	uint32_t n = m->trigger ? lmi_trigger_patterns(m->trigger) : 0;

	if (s && n)
		s->from = lmi_alloc(n, sizeof(*s->from));
	if (!s || (n && !s->from)) {
		lmi_free(s);
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory");
	}
	s->m = m;
	s->spot.situation = m->start;
	s->waiting = m->trigger != NULL;
	s->next = m->states;
	if (s->next)
		s->next->prev = s;
	m->states = s;
	*out = s;
	return LMD_OK;
}

/* Makes room for n bytes and pieces; keeps what is there. */
static bool reserve(struct lmi_gstate *s, uint32_t n_text, uint32_t n_piece)
{
	if (n_text > s->cap_text) {
		char *p = lmi_realloc(s->text, n_text, 1);

		if (!p)
			return false;
		s->text = p;
		s->cap_text = n_text;
	}
	if (n_piece > s->cap_piece) {
		struct lmi_piece *p = lmi_realloc(s->piece, n_piece, sizeof(*p));

		if (!p)
			return false;
		s->piece = p;
		s->cap_piece = n_piece;
	}
	return true;
}

enum lmd_status lmi_gstate_copy(struct lmi_gstate *to, const struct lmi_gstate *from)
{
	const struct lmi_trigger *t = from->m->trigger;

	if (to == from)
		return LMD_OK;
	if (from->waiting) {
		if (!reserve(to, from->n_text, from->n_piece))
			return LMD_NOMEM;
		if (from->n_text)
			memcpy(to->text, from->text, from->n_text);
		if (from->n_piece)
			memcpy(to->piece, from->piece, from->n_piece * sizeof(*to->piece));
		if (lmi_trigger_patterns(t))
			memcpy(to->from, from->from, lmi_trigger_patterns(t) * sizeof(*to->from));
	}
	to->n_text = from->n_text;
	to->n_piece = from->n_piece;
	to->spot = from->spot;
	to->ended = from->ended;
	to->waiting = from->waiting;
	return LMD_OK;
}

enum lmd_status lmi_gstate_clone(struct lmi_gstate **out, const struct lmi_gstate *from)
{
	struct lmi_gstate *s;
	enum lmd_status st = lmi_gstate_create(&s, from->m, NULL);

	if (st != LMD_OK)
		return st;
	st = lmi_gstate_copy(s, from);
	if (st != LMD_OK)
		lmi_gstate_destroy(s);
	else
		*out = s;
	return st;
}

void lmi_gstate_destroy(struct lmi_gstate *s)
{
	if (!s)
		return;
	if (s->next)
		s->next->prev = s->prev;
	if (s->prev)
		s->prev->next = s->next;
	else
		s->m->states = s->next;
	lmi_free(s->text);
	lmi_free(s->piece);
	lmi_free(s->from);
	lmi_free(s);
}

/* Accepting */

enum lmd_status lmi_gstate_take_text(struct lmi_gstate *s, const char *text, uint32_t n,
				     uint32_t *n_taken)
{
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_spot spot = s->spot;

		if (s->ended || !lmi_spot_feed(s->m, &spot, (unsigned char)text[i]) ||
		    !lmi_spot_alive(s->m, &spot)) {
			*n_taken = i;
			return spot.situation == LMI_NOWHERE ? LMD_NOMEM : LMD_INVALID;
		}
		s->spot = spot;
	}
	*n_taken = n;
	return LMD_OK;
}

/* Walks the text of a token; returns false if it is not allowed (or out of memory). */
static bool walk_text(const struct lmi_gstate *s, lmd_token token, struct lmi_spot *spot)
{
	const struct lmi_gvocab *v = s->m->vocab;
	const struct lmi_gtoken *t;

	if (v->place[token] == UINT32_MAX)
		return false;
	t = &v->token[v->place[token]];
	for (uint32_t i = 0; i < t->n; i++) {
		if (!lmi_spot_feed(s->m, spot, (unsigned char)v->text[t->text + i]))
			return false;
	}
	return lmi_spot_alive(s->m, spot);
}

enum lmd_status lmi_gstate_take_token(struct lmi_gstate *s, lmd_token token)
{
	struct lmi_spot spot = s->spot;
	uint32_t by_id = LMI_DEAD;
	bool fits;

	if (lmi_bit(s->m->vocab->eog, (uint32_t)token)) {
		if (s->ended || !lmi_gstate_may_end(s))
			return LMD_INVALID;
		s->ended = true;
		return LMD_OK;
	}
	if (s->ended)
		return LMD_INVALID;
	fits = walk_text(s, token, &spot);
	if (spot.situation == LMI_NOWHERE)
		return LMD_NOMEM;
	if (!s->spot.left)
		by_id = lmi_match_token(s->m, s->spot.situation, token);
	if (by_id == LMI_NOWHERE)
		return LMD_NOMEM;
	if (!fits && by_id == LMI_DEAD)
		return LMD_INVALID;
	if (by_id != LMI_DEAD) {
		/* The token may match both by its text and as a literal: both paths continue. An
		 * unfinished character is given up in favour of the literal. */
		if (fits && !spot.left)
			by_id = lmi_match_union(s->m, by_id, spot.situation);
		if (by_id == LMI_NOWHERE)
			return LMD_NOMEM;
		spot = (struct lmi_spot){.situation = by_id};
	}
	s->spot = spot;
	return LMD_OK;
}

static enum lmd_status accept(struct lmi_gstate *s, lmd_token token)
{
	const struct lmi_gvocab *v = s->m->vocab;
	uint32_t place;

	if (!s->waiting)
		return lmi_gstate_take_token(s, token);
	if (lmi_bit(v->eog, (uint32_t)token))
		return LMD_OK;
	place = v->place[token];
	if (place == UINT32_MAX)
		return lmi_trigger_take(s, token, "", 0);
	return lmi_trigger_take(s, token, v->text + v->token[place].text, v->token[place].n);
}

enum lmd_status lmi_gstate_accept(struct lmi_gstate *s, lmd_token token)
{
	enum lmd_status st;

	if (token < 0 || (uint32_t)token >= s->m->vocab->n)
		return LMD_INVALID;
	if (s->m->g->free)
		return LMD_OK;
	lmi_matcher_tidy(s->m);
	st = accept(s, token);
	if (st == LMD_NOMEM) {
		lmi_matcher_forget(s->m);
		st = accept(s, token);
	}
	return st;
}

static enum lmd_status accept_byte(struct lmi_gstate *s, const char *byte)
{
	uint32_t n;

	if (s->waiting)
		return lmi_trigger_take(s, -1, byte, 1);
	return lmi_gstate_take_text(s, byte, 1, &n);
}

enum lmd_status lmi_gstate_accept_text(struct lmi_gstate *s, const char *text, size_t bytes,
				       size_t *n_taken)
{
	for (*n_taken = 0; *n_taken < bytes && !s->m->g->free; ++*n_taken) {
		enum lmd_status st;

		lmi_matcher_tidy(s->m);
		st = accept_byte(s, text + *n_taken);
		if (st == LMD_NOMEM) {
			lmi_matcher_forget(s->m);
			st = accept_byte(s, text + *n_taken);
		}
		if (st != LMD_OK)
			return st;
	}
	*n_taken = bytes;
	return LMD_OK;
}

/* Queries */

enum lmd_status lmi_gstate_mask(struct lmi_gstate *s, const uint64_t **out)
{
	static const struct lmi_spot dead = {.situation = LMI_DEAD};

	*out = s->m->vocab->all;
	if (s->m->g->free || s->waiting)
		return LMD_OK;
	lmi_matcher_tidy(s->m);
	*out = lmi_mask_of(s->m, s->ended ? &dead : &s->spot);
	if (!*out) {
		lmi_matcher_forget(s->m);
		*out = lmi_mask_of(s->m, s->ended ? &dead : &s->spot);
	}
	return *out ? LMD_OK : LMD_NOMEM;
}

bool lmi_gstate_may_end(const struct lmi_gstate *s)
{
	if (s->m->g->free || s->waiting || s->ended)
		return true;
	return !s->spot.left && s->m->situation[s->spot.situation].may_end;
}

bool lmi_gstate_waiting(const struct lmi_gstate *s)
{
	return s->waiting;
}

bool lmi_gstate_stuck(struct lmi_gstate *s)
{
	const uint64_t *mask;

	if (s->ended || lmi_gstate_mask(s, &mask) != LMD_OK)
		return false;
	for (uint32_t i = 0; i < s->m->vocab->n_words; i++) {
		if (mask[i])
			return false;
	}
	return true;
}
