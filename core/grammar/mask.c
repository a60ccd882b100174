/* SPDX-License-Identifier: MIT
 *
 * Token masks: which tokens are allowed at a position.
 *
 * Tokens are walked in the order of their texts, so that the prefix shared with the previous token
 * is not fed again, and tokens that share a failed prefix are skipped.
 *
 * Inside a string most of a vocabulary is allowed, and it is the same part of it for all parser
 * states there. A run is a set of characters that lead from one parser state to a single next one,
 * from there to a single next one, and so on: either back to itself, or up a counter until none of
 * them is allowed any more. A token made only of such characters is allowed without a walk, unless
 * it is longer than the run. Which tokens those are, and which tokens must be walked, is computed
 * once per set of characters (class_tokens.h). */
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/match.h"

#define CHAR_LAST 0x10ffffu
/* Runs of fewer ASCII characters, such as digits, are not worth it. */
#define RUN_CHARS_MIN 32

/* How a run ends. */
enum run_end {
	RUN_NONE,  /* no run that is worth it */
	RUN_LOOPS, /* the run never ends */
	RUN_DEAD,  /* after its last step none of the characters is allowed */
	RUN_LONG   /* longer than LMI_GR_CLASS_TOKEN_CHARS_MAX steps, which is the look-ahead */
};

struct run {
	struct lmi_gr_char_set chars;
	enum run_end end;
	uint32_t steps;
};

struct filler {
	struct lmi_grammar_matcher *m;
	const struct lmi_grammar_vocab *v;
	uint64_t *mask;
	uint32_t n_valid;  /* cursors[0..n_valid] is valid for the text of the previous token */
	uint32_t dead_len; /* length of the shortest prefix that leads nowhere; 0 if none does */
	bool failed;   /* out of memory */
};

/* ---- runs ---- */

/* Returns the parser state that most ASCII characters lead to, or LMI_GR_PARSER_STATE_DEAD. */
static uint32_t majority_next(struct filler *f, uint32_t parser_state)
{
	const struct lmi_grammar *g = f->m->g;
	uint32_t best = LMI_GR_PARSER_STATE_DEAD, lead = 0;

	/* majority vote: finds the majority if there is one */
	for (uint32_t c = 1; c < 128; c++) {
		uint32_t to = lmi_gr_match_class(f->m, parser_state, g->ascii[c]);

		f->failed |= to == LMI_GR_PARSER_STATE_ERROR;
		if (to == best)
			lead++;
		else if (lead)
			lead--;
		else
			best = to, lead = 1;
	}
	return best;
}

/* Returns the characters that lead from `state` to `next`. */
static struct lmi_gr_char_set chars_to(struct filler *f, uint32_t parser_state, uint32_t next)
{
	const struct lmi_grammar *g = f->m->g;
	struct lmi_gr_char_set k = {.non_ascii = true};

	for (uint32_t c = 1; c < 128; c++)
		if (lmi_gr_match_class(f->m, parser_state, g->ascii[c]) == next)
			k.ascii[c / 64] |= 1ull << (c % 64);
	for (uint32_t i = lmi_gr_nfa_char_class(g, 128);
	     i <= lmi_gr_nfa_char_class(g, CHAR_LAST) && k.non_ascii; i++) {
		uint32_t to = lmi_gr_match_class(f->m, parser_state, i);

		f->failed |= to == LMI_GR_PARSER_STATE_ERROR;
		k.non_ascii = to == next;
	}
	return k;
}

static bool has_all(const struct lmi_gr_char_set *a, const struct lmi_gr_char_set *b)
{
	return !(b->ascii[0] & ~a->ascii[0]) && !(b->ascii[1] & ~a->ascii[1]) &&
	       (a->non_ascii || !b->non_ascii);
}

static struct run find_run(struct filler *f, uint32_t parser_state)
{
	struct run run = {0};
	uint32_t at = parser_state;

	for (;;) {
		uint32_t next = majority_next(f, at);
		struct lmi_gr_char_set dead = chars_to(f, at, LMI_GR_PARSER_STATE_DEAD), k;

		if (f->failed)
			break;
		if (run.steps && has_all(&dead, &run.chars)) {
			run.end = RUN_DEAD;
			break;
		}
		if (run.steps == LMI_GR_CLASS_TOKEN_CHARS_MAX) {
			run.end = RUN_LONG;
			break;
		}
		k = chars_to(f, at, next);
		if (next == LMI_GR_PARSER_STATE_DEAD ||
		    (run.steps && !lmi_gr_char_set_equal(&k, &run.chars)) ||
		    __builtin_popcountll(k.ascii[0]) + __builtin_popcountll(k.ascii[1]) <
			    RUN_CHARS_MIN)
			break;
		run.chars = k;
		run.steps++;
		if (next == at) {
			run.end = RUN_LOOPS;
			break;
		}
		at = next;
	}
	return run;
}

/* Returns the tokens made of these characters, or NULL if out of memory. */
static const struct lmi_gr_class_tokens *class_tokens_of(const struct filler *f,
							 const struct lmi_gr_char_set *k)
{
	struct lmi_grammar_matcher *m = f->m;
	struct lmi_gr_class_tokens *c;

	if (lmi_gr_char_set_equal(&f->v->json_string.chars, k))
		return &f->v->json_string;
	for (uint32_t i = 0; i < m->n_class_tokens; i++)
		if (lmi_gr_char_set_equal(&m->class_tokens[i].chars, k))
			return &m->class_tokens[i];
	if (!lmi_gr_matcher_grow(m, (void **)&m->class_tokens, &m->cap_class_tokens,
				 m->n_class_tokens, sizeof(*m->class_tokens)))
		return NULL;
	c = &m->class_tokens[m->n_class_tokens];
	if (!lmi_gr_class_tokens_init(c, f->v, k))
		return NULL;
	m->bytes += lmi_gr_class_tokens_bytes(c, f->v);
	m->n_class_tokens++;
	return c;
}

/* ---- walks ---- */

/* Feeds the part of a token that is not shared with the previous one; returns true if the token is
 * allowed. */
static bool walk(struct filler *f, const struct lmi_gr_token *t)
{
	const char *text = f->v->text + t->text;

	while (f->n_valid < t->n) {
		struct lmi_gr_match_cursor s = f->m->cursors[f->n_valid];

		if (!lmi_gr_match_cursor_feed(f->m, &s, (unsigned char)text[f->n_valid])) {
			f->failed |= s.parser_state == LMI_GR_PARSER_STATE_ERROR;
			f->dead_len = f->n_valid + 1;
			return false;
		}
		f->m->cursors[++f->n_valid] = s;
	}
	return lmi_gr_match_cursor_alive(f->m, &f->m->cursors[f->n_valid]);
}

/* Tries a token that shares `same` bytes with the previously tried token. */
static void try_token(struct filler *f, uint32_t i, uint32_t same)
{
	const struct lmi_gr_token *t = &f->v->token[i];

	if (f->dead_len && same >= f->dead_len)
		return;
	f->dead_len = 0;
	if (same < f->n_valid)
		f->n_valid = same;
	if (walk(f, t))
		lmi_gr_bit_set(f->mask, t->id);
}

static void fill_bucket(struct filler *f, uint32_t from, uint32_t to)
{
	f->n_valid = f->dead_len = 0;
	for (uint32_t i = from; i < to && !f->failed; i++)
		try_token(f, i, i > from ? f->v->token[i].n_shared : 0);
}

static void fill_all(struct filler *f, const struct lmi_gr_match_cursor *s)
{
	for (uint32_t b = 1; b < 256 && !f->failed; b++) {
		struct lmi_gr_match_cursor first = *s;

		if (f->v->first[b] == f->v->first[b + 1])
			continue;
		if (lmi_gr_match_cursor_feed(f->m, &first, (unsigned char)b) &&
		    lmi_gr_match_cursor_alive(f->m, &first))
			fill_bucket(f, f->v->first[b], f->v->first[b + 1]);
		f->failed |= first.parser_state == LMI_GR_PARSER_STATE_ERROR;
	}
}

static void clear(uint64_t *set, uint32_t i)
{
	set[i / 64] &= ~(1ull << (i % 64));
}

static void fill_run(struct filler *f, const struct lmi_gr_class_tokens *c, const struct run *run)
{
	memcpy(f->mask, c->mask, f->v->n_words * sizeof(*f->mask));
	for (uint32_t i = c->end[run->steps]; i < c->n && run->end != RUN_LOOPS; i++)
		clear(f->mask, f->v->token[c->by_length[i]].id);
	/* tokens longer than the look-ahead */
	for (uint32_t i = c->end[run->steps]; i < c->n && run->end == RUN_LONG && !f->failed; i++) {
		f->n_valid = f->dead_len = 0;
		try_token(f, c->by_length[i], 0);
	}
	f->n_valid = f->dead_len = 0;
	for (uint32_t i = 0; i < c->n_remaining && !f->failed; i++)
		try_token(f, c->remaining[i].token, i ? c->remaining[i].n_shared : 0);
}

/* Adds the tokens that the grammar names as literals. */
static void fill_literals(struct filler *f, const struct lmi_gr_parser_state *sit)
{
	const struct lmi_grammar *g = f->m->g;

	for (uint32_t i = 0; i < sit->n; i++) {
		const struct lmi_gr_nfa_state *s = &g->state[f->m->item[sit->item + i].state];

		for (uint32_t k = s->edge; k < s->edge + s->n_edges; k++) {
			uint32_t id = g->edge[k].arg;
			bool taken = id < f->v->n && lmi_gr_bit(f->mask, id);

			if (g->edge[k].kind == LMI_GR_EDGE_TOKEN && id < f->v->n &&
			    !lmi_gr_bit(f->v->eog, id))
				lmi_gr_bit_set(f->mask, id);
			if (g->edge[k].kind != LMI_GR_EDGE_NOT_TOKEN)
				continue;
			for (uint32_t w = 0; w < f->v->n_words; w++)
				f->mask[w] |= f->v->starts_with_char[w];
			if (id < f->v->n && !taken)
				clear(f->mask, id);
		}
	}
}

static void fill(struct filler *f, const struct lmi_gr_match_cursor *s)
{
	struct run run = {0};
	const struct lmi_gr_class_tokens *c = NULL;

	if (!s->n_missing)
		run = find_run(f, s->parser_state);
	if (run.end != RUN_NONE && !f->failed) {
		c = class_tokens_of(f, &run.chars);
		f->failed |= !c;
	}
	if (f->failed)
		return;
	f->m->cursors[0] = *s;
	if (c)
		fill_run(f, c, &run);
	else
		fill_all(f, s);
	if (f->failed || s->n_missing)
		return;
	fill_literals(f, &f->m->parser_state[s->parser_state]);
	for (uint32_t w = 0; w < f->v->n_words && f->m->parser_state[s->parser_state].may_end; w++)
		f->mask[w] |= f->v->eog[w];
}

static uint64_t mask_key(const struct lmi_gr_match_cursor *s)
{
	return (uint64_t)s->parser_state << 32 | s->value << 2 | s->n_missing;
}

const uint64_t *lmi_gr_match_cursor_mask_cached(const struct lmi_grammar_matcher *m,
						const struct lmi_gr_match_cursor *s)
{
	uint32_t i;

	return lmi_gr_keymap_find(&m->masks, mask_key(s), &i) ? m->mask[i] : NULL;
}

const uint64_t *lmi_gr_match_cursor_mask(struct lmi_grammar_matcher *m,
					 const struct lmi_gr_match_cursor *s)
{
	uint64_t key = mask_key(s);
	struct filler f = {.m = m, .v = m->vocab};
	uint32_t i;

	if (lmi_gr_keymap_find(&m->masks, key, &i))
		return m->mask[i];
	if (!lmi_gr_matcher_grow(m, (void **)&m->mask, &m->cap_mask, m->n_mask, sizeof(*m->mask)))
		return NULL;
	f.mask = lmi_alloc(m->vocab->n_words, sizeof(*f.mask));
	if (!f.mask)
		return NULL;
	fill(&f, s);
	if (f.failed || !lmi_gr_keymap_add(m, &m->masks, key, m->n_mask)) {
		lmi_free(f.mask);
		return NULL;
	}
	m->bytes += m->vocab->n_words * sizeof(*f.mask);
	m->mask[m->n_mask++] = f.mask;
	return f.mask;
}
