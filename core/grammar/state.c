/* SPDX-License-Identifier: MIT
 *
 * The state of one sequence in a matcher.
 *
 * The work that one sequence may cause is bounded, because others wait for it: a token bucket of
 * closure items, about 0.2 us each, which starts full and gets BUDGET_TOKEN more with each accepted
 * token. Results that the matcher has cached cost nothing. A sequence without budget gets
 * LMD_TIMEOUT. */
#include "core/grammar/state.h"

#include <string.h>

#include "core/base/alloc.h"

#define BUDGET_MAX   2000000u
#define BUDGET_TOKEN 100000u

enum lmd_status lmi_gr_state_create(struct lmi_grammar_state **out, struct lmi_grammar_matcher *m,
				    struct lmd_error *err)
{
	struct lmi_grammar_state *s = lmi_alloc(1, sizeof(*s));
	uint32_t n = m->trigger ? lmi_gr_trigger_patterns(m->trigger) : 0;

	if (s && n)
		s->from = lmi_alloc(n, sizeof(*s->from));
	if (!s || (n && !s->from)) {
		lmi_free(s);
		return lmd_fail(err, LMD_NOMEM, "grammar: out of memory");
	}
	s->m = m;
	s->cursor.parser_state = m->start;
	s->budget = BUDGET_MAX;
	s->waiting = m->trigger != NULL;
	s->next = m->states;
	if (s->next)
		s->next->prev = s;
	m->states = s;
	*out = s;
	return LMD_OK;
}

/* Makes room for n bytes and pieces; keeps what is there. */
static bool reserve(struct lmi_grammar_state *s, uint32_t n_text, uint32_t n_piece)
{
	if (n_text > s->cap_text) {
		char *p = lmi_realloc(s->text, n_text, 1);

		if (!p)
			return false;
		s->text = p;
		s->cap_text = n_text;
	}
	if (n_piece > s->cap_piece) {
		struct lmi_gr_piece *p = lmi_realloc(s->piece, n_piece, sizeof(*p));

		if (!p)
			return false;
		s->piece = p;
		s->cap_piece = n_piece;
	}
	return true;
}

enum lmd_status lmi_gr_state_copy(struct lmi_grammar_state *to,
				  const struct lmi_grammar_state *from)
{
	const struct lmi_gr_trigger *t = from->m->trigger;

	if (to == from)
		return LMD_OK;
	if (from->waiting) {
		if (!reserve(to, from->n_text, from->n_piece))
			return LMD_NOMEM;
		if (from->n_text)
			memcpy(to->text, from->text, from->n_text);
		if (from->n_piece)
			memcpy(to->piece, from->piece, from->n_piece * sizeof(*to->piece));
		if (lmi_gr_trigger_patterns(t))
			memcpy(to->from, from->from,
			       lmi_gr_trigger_patterns(t) * sizeof(*to->from));
	}
	to->n_text = from->n_text;
	to->n_piece = from->n_piece;
	to->cursor = from->cursor;
	to->budget = from->budget;
	to->ended = from->ended;
	to->waiting = from->waiting;
	return LMD_OK;
}

enum lmd_status lmi_gr_state_clone(struct lmi_grammar_state **out,
				   const struct lmi_grammar_state *from)
{
	struct lmi_grammar_state *s;
	enum lmd_status st = lmi_gr_state_create(&s, from->m, NULL);

	if (st != LMD_OK)
		return st;
	st = lmi_gr_state_copy(s, from);
	if (st != LMD_OK)
		lmi_gr_state_destroy(s);
	else
		*out = s;
	return st;
}

void lmi_gr_state_destroy(struct lmi_grammar_state *s)
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

enum lmd_status lmi_gr_state_feed_text(struct lmi_grammar_state *s, const char *text, uint32_t n,
				       uint32_t *n_taken)
{
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_gr_match_cursor cursor = s->cursor;

		if (s->ended || !lmi_gr_match_cursor_feed(s->m, &cursor, (unsigned char)text[i]) ||
		    !lmi_gr_match_cursor_alive(s->m, &cursor)) {
			*n_taken = i;
			return cursor.parser_state == LMI_GR_PARSER_STATE_ERROR ? LMD_NOMEM
										: LMD_INVALID;
		}
		s->cursor = cursor;
	}
	*n_taken = n;
	return LMD_OK;
}

/* Walks the text of a token; returns false if it is not allowed (or out of memory). */
static bool walk_text(const struct lmi_grammar_state *s, lmd_token token,
		      struct lmi_gr_match_cursor *cursor)
{
	const struct lmi_grammar_vocab *v = s->m->vocab;
	const struct lmi_gr_token *t;

	if (v->rank[token] == UINT32_MAX)
		return false;
	t = &v->token[v->rank[token]];
	for (uint32_t i = 0; i < t->n; i++) {
		if (!lmi_gr_match_cursor_feed(s->m, cursor, (unsigned char)v->text[t->text + i]))
			return false;
	}
	return lmi_gr_match_cursor_alive(s->m, cursor);
}

enum lmd_status lmi_gr_state_feed_token(struct lmi_grammar_state *s, lmd_token token)
{
	struct lmi_gr_match_cursor cursor = s->cursor;
	uint32_t by_id = LMI_GR_PARSER_STATE_DEAD;
	bool fits;

	if (lmi_gr_bit(s->m->vocab->eog, (uint32_t)token)) {
		if (s->ended || !lmi_gr_state_may_end(s))
			return LMD_INVALID;
		s->ended = true;
		return LMD_OK;
	}
	if (s->ended)
		return LMD_INVALID;
	fits = walk_text(s, token, &cursor);
	if (cursor.parser_state == LMI_GR_PARSER_STATE_ERROR)
		return LMD_NOMEM;
	if (!s->cursor.n_missing)
		by_id = lmi_gr_match_token(s->m, s->cursor.parser_state, token);
	if (by_id == LMI_GR_PARSER_STATE_ERROR)
		return LMD_NOMEM;
	if (!fits && by_id == LMI_GR_PARSER_STATE_DEAD)
		return LMD_INVALID;
	if (by_id != LMI_GR_PARSER_STATE_DEAD) {
		/* The token may match both by its text and as a literal: both paths continue. An
		 * unfinished character is given up in favour of the literal. */
		if (fits && !cursor.n_missing)
			by_id = lmi_gr_match_union(s->m, by_id, cursor.parser_state);
		if (by_id == LMI_GR_PARSER_STATE_ERROR)
			return LMD_NOMEM;
		cursor = (struct lmi_gr_match_cursor){.parser_state = by_id};
	}
	s->cursor = cursor;
	return LMD_OK;
}

static enum lmd_status accept(struct lmi_grammar_state *s, lmd_token token)
{
	const struct lmi_grammar_vocab *v = s->m->vocab;
	uint32_t rank;

	if (!s->waiting)
		return lmi_gr_state_feed_token(s, token);
	if (lmi_gr_bit(v->eog, (uint32_t)token))
		return LMD_OK;
	rank = v->rank[token];
	if (rank == UINT32_MAX)
		return lmi_gr_trigger_feed(s, token, "", 0);
	return lmi_gr_trigger_feed(s, token, v->text + v->token[rank].text, v->token[rank].n);
}

static void refill(struct lmi_grammar_state *s, uint64_t n)
{
	s->budget = s->budget < BUDGET_MAX - n ? s->budget + n : BUDGET_MAX;
}

void lmi_gr_state_begin_work(struct lmi_grammar_state *s)
{
	lmi_gr_matcher_enforce_limit(s->m);
	lmi_gr_closure_set_budget(s->m->closure, &s->budget);
}

enum lmd_status lmi_gr_state_end_work(struct lmi_grammar_state *s, enum lmd_status st)
{
	lmi_gr_closure_set_budget(s->m->closure, NULL);
	return st == LMD_NOMEM && !s->budget ? LMD_TIMEOUT : st;
}

enum lmd_status lmi_gr_state_accept(struct lmi_grammar_state *s, lmd_token token)
{
	enum lmd_status st;

	if (token < 0 || (uint32_t)token >= s->m->vocab->n)
		return LMD_INVALID;
	if (s->m->g->unconstrained)
		return LMD_OK;
	refill(s, BUDGET_TOKEN);
	lmi_gr_state_begin_work(s);
	st = accept(s, token);
	if (st == LMD_NOMEM && s->budget) {
		lmi_gr_matcher_collect_garbage(s->m);
		st = accept(s, token);
	}
	return lmi_gr_state_end_work(s, st);
}

static enum lmd_status accept_byte(struct lmi_grammar_state *s, const char *byte)
{
	uint32_t n;

	if (s->waiting)
		return lmi_gr_trigger_feed(s, -1, byte, 1);
	return lmi_gr_state_feed_text(s, byte, 1, &n);
}

enum lmd_status lmi_gr_state_accept_text(struct lmi_grammar_state *s, const char *text,
					 size_t bytes, size_t *n_taken)
{
	for (*n_taken = 0; *n_taken < bytes && !s->m->g->unconstrained; ++*n_taken) {
		enum lmd_status st;

		refill(s, BUDGET_TOKEN / 8);
		lmi_gr_state_begin_work(s);
		st = accept_byte(s, text + *n_taken);
		if (st == LMD_NOMEM && s->budget) {
			lmi_gr_matcher_collect_garbage(s->m);
			st = accept_byte(s, text + *n_taken);
		}
		st = lmi_gr_state_end_work(s, st);
		if (st != LMD_OK)
			return st;
	}
	*n_taken = bytes;
	return LMD_OK;
}

enum lmd_status lmi_gr_state_accept_cached(struct lmi_grammar_state *s, lmd_token token)
{
	uint64_t none = 0;
	enum lmd_status st;

	if (token < 0 || (uint32_t)token >= s->m->vocab->n)
		return LMD_INVALID;
	if (s->m->g->unconstrained)
		return LMD_OK;
	lmi_gr_closure_set_budget(s->m->closure, &none);
	st = accept(s, token);
	lmi_gr_closure_set_budget(s->m->closure, NULL);
	if (st == LMD_OK)
		refill(s, BUDGET_TOKEN);
	return st == LMD_NOMEM ? LMD_BUSY : st;
}

uint64_t lmi_gr_state_budget(const struct lmi_grammar_state *s)
{
	return s->budget;
}

/* Queries */

enum lmd_status lmi_gr_state_mask(struct lmi_grammar_state *s, const uint64_t **out)
{
	static const struct lmi_gr_match_cursor dead = {.parser_state = LMI_GR_PARSER_STATE_DEAD};

	*out = s->m->vocab->all;
	if (s->m->g->unconstrained || s->waiting)
		return LMD_OK;
	lmi_gr_state_begin_work(s);
	*out = lmi_gr_match_cursor_mask(s->m, s->ended ? &dead : &s->cursor);
	if (!*out && s->budget) {
		lmi_gr_matcher_collect_garbage(s->m);
		*out = lmi_gr_match_cursor_mask(s->m, s->ended ? &dead : &s->cursor);
	}
	return lmi_gr_state_end_work(s, *out ? LMD_OK : LMD_NOMEM);
}

enum lmd_status lmi_gr_state_mask_cached(const struct lmi_grammar_state *s, const uint64_t **out)
{
	*out = s->m->vocab->all;
	if (s->m->g->unconstrained || s->waiting)
		return LMD_OK;
	*out = s->ended ? NULL : lmi_gr_match_cursor_mask_cached(s->m, &s->cursor);
	return *out ? LMD_OK : LMD_BUSY;
}

bool lmi_gr_state_may_end(const struct lmi_grammar_state *s)
{
	if (s->m->g->unconstrained || s->waiting || s->ended)
		return true;
	return !s->cursor.n_missing && s->m->parser_state[s->cursor.parser_state].may_end;
}
