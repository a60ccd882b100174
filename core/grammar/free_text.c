/* SPDX-License-Identifier: MIT
 *
 * Free text as an automaton of Aho and Corasick (Efficient String Matching, 1975): a state for each
 * prefix of a string, entered when that is the longest one that ends the text so far. Each state
 * becomes a rule that reads one character and calls the rule of the next state; these are tail
 * calls, so that long texts need no deep stack. A state is entered by one character only, the last
 * one of its prefix, except for the first state, which all other characters lead to. */
#include "core/grammar/free_text.h"

#include "core/base/utf8.h"

#define NONE UINT32_MAX

struct state {
	uint32_t c;       /* the character that enters the state */
	uint32_t child;   /* first child in the tree of prefixes, or NONE */
	uint32_t sibling; /* next child of the same parent, or NONE */
	uint32_t suffix;  /* state of the longest proper suffix */
	uint32_t stop;    /* index of the string that ends here, or NONE */
	uint32_t rule;
};

struct automaton {
	struct lmi_grammar_builder *b;
	const struct lmi_gr_free_text_stop *stops;
	struct state *v; /* [n], parents before their children; [0] is the first */
	uint32_t n, cap;
	bool may_end;
};

static uint32_t child_of(const struct automaton *a, uint32_t i, uint32_t c)
{
	uint32_t k = a->v[i].child;

	while (k != NONE && a->v[k].c != c)
		k = a->v[k].sibling;
	return k;
}

static uint32_t add_child(struct automaton *a, uint32_t parent, uint32_t c)
{
	uint32_t i = a->n;

	if (i == a->cap) {
		lmi_grammar_builder_fail(a->b, LMD_INVALID,
					 "grammar: the strings that end a text have more than %d "
					 "characters",
					 LMI_GR_FREE_TEXT_CHARS_MAX);
		return 0;
	}
	a->v[i] = (struct state){
		.c = c, .child = NONE, .sibling = NONE, .stop = NONE, .rule = NONE};
	if (i) {
		a->v[i].sibling = a->v[parent].child;
		a->v[parent].child = i;
	}
	a->n++;
	return i;
}

static void add_string(struct automaton *a, uint32_t stop)
{
	const struct lmd_str *s = &a->stops[stop].text;
	uint32_t i = 0;

	for (size_t at = 0; at < s->len && a->b->st == LMD_OK;) {
		uint32_t c = lmi_utf8_next(s->ptr, s->len, &at), k;

		if (c == LMI_UTF8_BAD || !c) {
			lmi_grammar_builder_fail(a->b, LMD_INVALID,
						 "grammar: a string that ends a text contains a "
						 "zero byte or is not valid UTF-8");
			return;
		}
		k = child_of(a, i, c);
		i = k == NONE ? add_child(a, i, c) : k;
	}
	if (i && a->v[i].stop == NONE)
		a->v[i].stop = stop;
}

/* Returns the state after the character in state i. */
static uint32_t next(const struct automaton *a, uint32_t i, uint32_t c)
{
	for (;; i = a->v[i].suffix) {
		uint32_t k = child_of(a, i, c);

		if (k != NONE)
			return k;
		if (!i)
			return 0;
	}
}

/* Sets the suffixes, breadth first: the suffix of a state is shorter than its prefix. */
static void find_suffixes(struct automaton *a, uint32_t *queue)
{
	uint32_t n = 1;

	queue[0] = 0;
	for (uint32_t q = 0; q < n; q++) {
		uint32_t i = queue[q];

		for (uint32_t k = a->v[i].child; k != NONE; k = a->v[k].sibling) {
			struct state *s = &a->v[k];

			s->suffix = i ? next(a, a->v[i].suffix, s->c) : 0;
			if (s->stop == NONE)
				s->stop = a->v[s->suffix].stop;
			queue[n++] = k;
		}
	}
}

/* Appends the alternative that the character leads from a state to state k. */
static void add_step(struct automaton *a, struct lmi_grammar_expr *alt,
		     struct lmi_grammar_expr *chars, uint32_t k)
{
	struct lmi_grammar_expr *seq, *then;

	if (a->v[k].stop == NONE)
		then = lmi_grammar_expr_rule(a->b, a->v[k].rule);
	else
		then = a->stops[a->v[k].stop].then;
	if (!then)
		return;
	seq = lmi_grammar_expr_new(a->b, LMI_GR_EXPR_SEQ);
	lmi_grammar_expr_append(a->b, seq, chars);
	lmi_grammar_expr_append(a->b, seq, then);
	lmi_grammar_expr_append(a->b, alt, seq);
}

/* Defines the rule of a state. Every character that leads to another state than the first one is a
 * child of the state, of its suffix, of that one's suffix, and so on. */
static void define(struct automaton *a, uint32_t i)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(a->b, LMI_GR_EXPR_ALT),
				*others = lmi_grammar_expr_new(a->b, LMI_GR_EXPR_CLASS);

	if (a->may_end)
		lmi_grammar_expr_append(a->b, alt, lmi_grammar_expr_new(a->b, LMI_GR_EXPR_SEQ));
	for (uint32_t from = i; a->b->st == LMD_OK; from = a->v[from].suffix) {
		for (uint32_t k = a->v[from].child; k != NONE; k = a->v[k].sibling) {
			uint32_t c = a->v[k].c;

			lmi_grammar_builder_step(a->b, 1);
			if (next(a, i, c) != k) /* a longer prefix comes first */
				continue;
			lmi_grammar_expr_add_range(a->b, others, c, c);
			add_step(a, alt, lmi_grammar_expr_range(a->b, c, c), k);
		}
		if (!from)
			break;
	}
	if (a->b->st != LMD_OK)
		return;
	lmi_grammar_expr_class_finish(a->b, others, true);
	add_step(a, alt, others, 0);
	a->b->rule[a->v[i].rule] = alt;
}

void lmi_gr_free_text(struct lmi_grammar_builder *b, uint32_t rule,
		      const struct lmi_gr_free_text_stop *stops, uint32_t n, bool may_end)
{
	struct automaton a = {.b = b, .stops = stops, .may_end = may_end};
	uint32_t *queue;

	a.cap = 1;
	for (uint32_t i = 0; i < n && a.cap <= LMI_GR_FREE_TEXT_CHARS_MAX; i++)
		a.cap += stops[i].text.len < LMI_GR_FREE_TEXT_CHARS_MAX
				 ? (uint32_t)stops[i].text.len
				 : LMI_GR_FREE_TEXT_CHARS_MAX;
	if (a.cap > LMI_GR_FREE_TEXT_CHARS_MAX + 1)
		a.cap = LMI_GR_FREE_TEXT_CHARS_MAX + 1;
	a.v = lmi_arena_array(b->arena, a.cap, sizeof(*a.v));
	queue = lmi_arena_array(b->arena, a.cap, sizeof(*queue));
	if (!a.v || !queue) {
		lmi_grammar_builder_fail(b, LMD_NOMEM, "grammar: out of memory or too large");
		return;
	}
	(void)add_child(&a, 0, 0);
	for (uint32_t i = 0; i < n; i++)
		add_string(&a, i);
	if (b->st != LMD_OK)
		return;
	find_suffixes(&a, queue);
	for (uint32_t i = 0; i < a.n; i++)
		if (a.v[i].stop == NONE)
			a.v[i].rule = i ? lmi_grammar_builder_add_rule(b, "free text") : rule;
	for (uint32_t i = 0; i < a.n && b->st == LMD_OK; i++)
		if (a.v[i].stop == NONE)
			define(&a, i);
}
