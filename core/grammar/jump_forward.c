/* SPDX-License-Identifier: MIT
 *
 * Jump-forward decoding: the only text that can follow, and the only token that a mask allows. */
#include "core/base/utf8.h"
#include "core/grammar/expr.h"
#include "core/grammar/state.h"

/* Returns the class of the only character that may come in a parser state, or UINT32_MAX if there
 * are several, none, or a token literal. */
static uint32_t only_class(const struct lmi_grammar_matcher *m, uint32_t parser_state)
{
	const struct lmi_gr_parser_state *sit = &m->parser_state[parser_state];
	const struct lmi_grammar *g = m->g;
	uint32_t only = UINT32_MAX;

	for (uint32_t i = 0; i < sit->n; i++) {
		const struct lmi_gr_nfa_state *s = &g->state[m->item[sit->item + i].state];

		for (uint32_t k = s->edge; k < s->edge + s->n_edges; k++) {
			const struct lmi_gr_nfa_edge *e = &g->edge[k];
			struct lmi_gr_nfa_class_range r;

			if (e->kind == LMI_GR_EDGE_TOKEN || e->kind == LMI_GR_EDGE_NOT_TOKEN)
				return UINT32_MAX;
			if (e->kind != LMI_GR_EDGE_CHARS || !g->set[e->arg].n)
				continue;
			r = g->range[g->set[e->arg].range];
			if (g->set[e->arg].n > 1 || r.lo != r.hi ||
			    (only != UINT32_MAX && only != r.lo))
				return UINT32_MAX;
			only = r.lo;
		}
	}
	return only;
}

/* Returns the only character of a class, or 0 if the class has several. */
static uint32_t char_of(const struct lmi_grammar *g, uint32_t class_id)
{
	uint32_t end = class_id + 1 < g->n_classes ? g->first[class_id + 1] : LMI_GRAMMAR_CHAR_END;

	return end - g->first[class_id] == 1 ? g->first[class_id] : 0;
}

static enum lmd_status walk(struct lmi_grammar_state *s, char *out, size_t cap, size_t *n,
			    bool *ends)
{
	struct lmi_grammar_matcher *m = s->m;
	uint32_t at = s->cursor.parser_state;

	for (*n = 0; *n + 4 <= cap && !m->parser_state[at].may_end;) {
		uint32_t class_id = only_class(m, at);
		uint32_t c = class_id == UINT32_MAX ? 0 : char_of(m->g, class_id);

		if (!c)
			return LMD_OK;
		at = lmi_gr_match_class(m, at, class_id);
		if (at == LMI_GR_PARSER_STATE_ERROR)
			return LMD_NOMEM;
		if (at == LMI_GR_PARSER_STATE_DEAD)
			return LMD_OK;
		*n += lmi_utf8_put(out + *n, c);
	}
	*ends = m->parser_state[at].may_end && !m->parser_state[at].n;
	return LMD_OK;
}

enum lmd_status lmi_gr_state_forced(struct lmi_grammar_state *s, char *out, size_t cap, size_t *n,
				    bool *ends)
{
	enum lmd_status st;

	*n = 0;
	*ends = false;
	if (s->m->g->unconstrained || s->waiting || s->ended || s->cursor.n_missing)
		return LMD_OK;
	lmi_gr_state_begin_work(s);
	st = walk(s, out, cap, n, ends);
	if (st == LMD_NOMEM && s->budget) {
		lmi_gr_matcher_collect_garbage(s->m);
		st = walk(s, out, cap, n, ends);
	}
	st = lmi_gr_state_end_work(s, st);
	if (st != LMD_OK)
		*n = 0;
	return st;
}

lmd_token lmi_gr_mask_only_token(const uint64_t *mask, uint32_t n)
{
	lmd_token only = -1;

	for (uint32_t w = 0; w <= n / 64; w++) {
		uint64_t bits = mask[w];

		if (w == n / 64)
			bits &= (1ull << (n % 64)) - 1;
		if (!bits)
			continue;
		if (only >= 0 || (bits & (bits - 1)))
			return -1;
		only = (lmd_token)(w * 64 + (uint32_t)__builtin_ctzll(bits));
	}
	return only;
}

bool lmi_gr_state_allows_text(struct lmi_grammar_state *s, const char *text, size_t bytes)
{
	struct lmi_gr_match_cursor cursor = s->cursor;

	if (s->m->g->unconstrained || s->waiting || !bytes)
		return true;
	if (s->ended)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (!lmi_gr_match_cursor_feed(s->m, &cursor, (unsigned char)text[i]))
			return false;
	return lmi_gr_match_cursor_alive(s->m, &cursor);
}
