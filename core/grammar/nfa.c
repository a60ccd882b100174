/* SPDX-License-Identifier: MIT
 *
 * Compiles expressions to an NFA.
 *
 * A repetition that must be copied (a count other than ? * +) first becomes a rule of its own, so
 * that nested counts add up instead of multiplying. States with a single empty edge are removed
 * later (nfa_builder.c). */
#include "core/grammar/nfa_builder.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/grammar/expr.h"

/* Steps for a state or an edge. */
#define STATE_STEPS 4

void lmi_gr_nfa_builder_no_memory(struct lmi_gr_nfa_builder *c)
{
	lmi_grammar_builder_fail(c->b, LMD_NOMEM, "grammar: out of memory or too large");
}

static bool grow(struct lmi_gr_nfa_builder *c, void **p, uint32_t *cap, uint32_t n, size_t item)
{
	uint32_t want = *cap ? 2 * *cap : 64;
	void *q;

	if (n < *cap)
		return true;
	q = lmi_realloc(*p, want, item);
	if (!q) {
		lmi_gr_nfa_builder_no_memory(c);
		return false;
	}
	*p = q;
	*cap = want;
	return true;
}

/* States and edges */

static uint32_t new_state(struct lmi_gr_nfa_builder *c)
{
	uint32_t cap = c->cap_states;

	lmi_grammar_builder_step(c->b, STATE_STEPS);
	if (c->n_states >= LMI_GR_NFA_STATES_MAX)
		lmi_grammar_builder_fail(c->b, LMD_NOMEM, "grammar: too large: more than %d states",
					 LMI_GR_NFA_STATES_MAX);
	if (c->b->st != LMD_OK || !grow(c, (void **)&c->accept, &cap, c->n_states, 1) ||
	    !grow(c, (void **)&c->rule_of, &c->cap_states, c->n_states, sizeof(*c->rule_of)))
		return 0;
	c->accept[c->n_states] = 0;
	c->rule_of[c->n_states] = c->rule;
	return c->n_states++;
}

static void add_edge(struct lmi_gr_nfa_builder *c, uint32_t from, uint32_t to, uint32_t kind,
		     uint32_t arg)
{
	lmi_grammar_builder_step(c->b, STATE_STEPS);
	if (c->b->st != LMD_OK ||
	    !grow(c, (void **)&c->edge, &c->cap_edges, c->n_edges, sizeof(*c->edge)))
		return;
	c->edge[c->n_edges++] =
		(struct lmi_gr_nfa_builder_edge){from, {.to = to, .kind = kind, .arg = arg}};
}

/* Adds a state after `from` and returns it. */
static uint32_t step(struct lmi_gr_nfa_builder *c, uint32_t from, uint32_t kind, uint32_t arg)
{
	uint32_t to = new_state(c);

	add_edge(c, from, to, kind, arg);
	return to;
}

/* Sets */

static uint32_t hash_ranges(const struct lmi_gr_char_range *r, uint32_t n)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < n; i++)
		h = ((h ^ r[i].lo) * 16777619u ^ r[i].hi) * 16777619u;
	return h;
}

static bool rehash_sets(struct lmi_gr_nfa_builder *c)
{
	uint32_t n = c->n_index ? 2 * c->n_index : 256;
	uint32_t *index = lmi_alloc(n, sizeof(*index));

	if (!index) {
		lmi_gr_nfa_builder_no_memory(c);
		return false;
	}
	for (uint32_t k = 0; k < c->n_sets; k++) {
		uint32_t i = c->set[k].hash & (n - 1);

		while (index[i])
			i = (i + 1) & (n - 1);
		index[i] = k + 1;
	}
	lmi_free(c->set_index);
	c->set_index = index;
	c->n_index = n;
	return true;
}

/* Returns the number of the set with these ranges; equal sets share a number. */
static uint32_t find_set(struct lmi_gr_nfa_builder *c, const struct lmi_gr_char_range *r,
			 uint32_t n)
{
	uint32_t h = hash_ranges(r, n), i;

	if (c->b->st != LMD_OK || (2 * c->n_sets >= c->n_index && !rehash_sets(c)))
		return 0;
	for (i = h & (c->n_index - 1); c->set_index[i]; i = (i + 1) & (c->n_index - 1)) {
		const struct lmi_gr_nfa_builder_set *s = &c->set[c->set_index[i] - 1];

		if (s->hash == h && s->n == n && (!n || !memcmp(s->r, r, n * sizeof(*r))))
			return c->set_index[i] - 1;
	}
	if (!grow(c, (void **)&c->set, &c->cap_sets, c->n_sets, sizeof(*c->set)))
		return 0;
	c->set[c->n_sets] = (struct lmi_gr_nfa_builder_set){r, n, h};
	c->set_index[i] = c->n_sets + 1;
	return c->n_sets++;
}

static uint32_t char_set(struct lmi_gr_nfa_builder *c, uint32_t ch)
{
	struct lmi_gr_char_range one = {ch, ch}, *r;
	uint32_t n = c->n_sets, set = find_set(c, &one, 1);

	if (set < n || c->b->st != LMD_OK)
		return set;
	/* A new set needs its own copy of the ranges. */
	r = lmi_arena_alloc(c->b->arena, sizeof(*r), 16);
	if (!r) {
		lmi_gr_nfa_builder_no_memory(c);
		return set;
	}
	*r = one;
	c->set[set].r = r;
	return set;
}

/* Expressions: each function returns the state after the expression */

static uint32_t compile(struct lmi_gr_nfa_builder *c, const struct lmi_grammar_expr *e,
			uint32_t from);

static uint32_t compile_text(struct lmi_gr_nfa_builder *c, const struct lmi_grammar_expr *e,
			     uint32_t from)
{
	for (uint32_t i = 0; i < e->n && c->b->st == LMD_OK; i++)
		from = step(c, from, LMI_GR_EDGE_CHARS, char_set(c, e->u.chars[i]));
	return from;
}

static uint32_t compile_alt(struct lmi_gr_nfa_builder *c, const struct lmi_grammar_expr *e,
			    uint32_t from)
{
	uint32_t to = new_state(c);

	for (uint32_t i = 0; i < e->n && c->b->st == LMD_OK; i++)
		add_edge(c, compile(c, e->u.kids[i], from), to, LMI_GR_EDGE_EMPTY, 0);
	return to;
}

/* Returns true if the expression is a single edge and can simply be copied. */
static bool is_one_edge(const struct lmi_grammar_expr *e)
{
	return e->kind == LMI_GR_EXPR_CLASS || e->kind == LMI_GR_EXPR_RULE ||
	       e->kind == LMI_GR_EXPR_TOKEN || e->kind == LMI_GR_EXPR_NOT_TOKEN ||
	       (e->kind == LMI_GR_EXPR_TEXT && e->n == 1);
}

static const struct lmi_grammar_expr *as_one_edge(struct lmi_gr_nfa_builder *c,
						  const struct lmi_grammar_expr *e)
{
	uint32_t rule;

	if (is_one_edge(e) || c->b->st != LMD_OK)
		return e;
	rule = lmi_grammar_builder_add_rule(c->b, "(repeated)");
	if (c->b->st != LMD_OK)
		return e;
	c->b->rule[rule] = (struct lmi_grammar_expr *)(uintptr_t)e; /* not written from here on */
	return lmi_grammar_expr_rule(c->b, rule);
}

static uint32_t compile_loop(struct lmi_gr_nfa_builder *c, const struct lmi_grammar_expr *kid,
			     uint32_t from)
{
	uint32_t head = step(c, from, LMI_GR_EDGE_EMPTY, 0);

	add_edge(c, compile(c, kid, head), head, LMI_GR_EDGE_EMPTY, 0);
	return head;
}

static uint32_t compile_repeat(struct lmi_gr_nfa_builder *c, const struct lmi_grammar_expr *e,
			       uint32_t from)
{
	const struct lmi_grammar_expr *kid = e->u.kids[0];
	uint32_t to;

	if (e->max == UINT32_MAX && e->min == 0)
		return compile_loop(c, kid, from);
	if (e->max == UINT32_MAX && e->min == 1) {
		uint32_t head = step(c, from, LMI_GR_EDGE_EMPTY, 0);

		to = compile(c, kid, head);
		add_edge(c, to, head, LMI_GR_EDGE_EMPTY, 0);
		/* a separate state, because `to` loops back */
		return step(c, to, LMI_GR_EDGE_EMPTY, 0);
	}
	if (e->max > 1)
		kid = as_one_edge(c, kid);
	for (uint32_t i = 0; i < e->min && c->b->st == LMD_OK; i++)
		from = compile(c, kid, from);
	if (e->max == UINT32_MAX)
		return compile_loop(c, kid, from);
	if (e->max == e->min)
		return from;
	to = new_state(c);
	for (uint32_t i = e->min; i < e->max && c->b->st == LMD_OK; i++) {
		add_edge(c, from, to, LMI_GR_EDGE_EMPTY, 0);
		from = compile(c, kid, from);
	}
	add_edge(c, from, to, LMI_GR_EDGE_EMPTY, 0);
	return to;
}

static uint32_t compile(struct lmi_gr_nfa_builder *c, const struct lmi_grammar_expr *e,
			uint32_t from)
{
	/* An id outside every vocabulary matches nothing; all such ids are equivalent. */
	uint32_t number = e->number < INT32_MAX ? (uint32_t)e->number : INT32_MAX;

	if (c->b->st != LMD_OK)
		return from;
	switch (e->kind) {
	case LMI_GR_EXPR_SEQ:
		for (uint32_t i = 0; i < e->n; i++)
			from = compile(c, e->u.kids[i], from);
		return from;
	case LMI_GR_EXPR_ALT:
		return compile_alt(c, e, from);
	case LMI_GR_EXPR_TEXT:
		return compile_text(c, e, from);
	case LMI_GR_EXPR_CLASS:
		return step(c, from, LMI_GR_EDGE_CHARS, find_set(c, e->u.ranges, e->n));
	case LMI_GR_EXPR_REPEAT:
		return compile_repeat(c, e, from);
	case LMI_GR_EXPR_RULE:
		return step(c, from, LMI_GR_EDGE_RULE, number);
	case LMI_GR_EXPR_TOKEN:
		return step(c, from, LMI_GR_EDGE_TOKEN, number);
	case LMI_GR_EXPR_NOT_TOKEN:
		return step(c, from, LMI_GR_EDGE_NOT_TOKEN, number);
	}
	return from;
}

/* Compiles all rules, including those added on the way. */
static void compile_rules(struct lmi_gr_nfa_builder *c, uint32_t **starts)
{
	uint32_t cap = 0;

	for (c->rule = 0; c->rule < c->b->n_rules && c->b->st == LMD_OK; c->rule++) {
		uint32_t start, end;

		if (!c->b->rule[c->rule]) {
			lmi_grammar_builder_fail(c->b, LMD_INVALID,
						 "grammar: rule '%.100s' is used but not defined",
						 c->b->name[c->rule]);
			return;
		}
		if (!grow(c, (void **)starts, &cap, c->rule, sizeof(**starts)))
			return;
		start = new_state(c);
		(*starts)[c->rule] = start;
		end = compile(c, c->b->rule[c->rule], start);
		/* A separate state, because the end of a rule must have no edges. */
		end = step(c, end, LMI_GR_EDGE_EMPTY, 0);
		if (c->b->st == LMD_OK)
			c->accept[end] = 1;
	}
}

enum lmd_status lmi_grammar_builder_compile(struct lmi_grammar_builder *b, uint32_t root,
					    struct lmi_grammar **out)
{
	struct lmi_gr_nfa_builder c = {.b = b};
	uint32_t *starts = NULL;

	c.g = lmi_alloc(1, sizeof(*c.g));
	if (c.g)
		c.g->arena = lmi_arena_create(0);
	if (!c.g || !c.g->arena) {
		lmi_free(c.g);
		return lmd_fail(b->err, LMD_NOMEM, "grammar: out of memory");
	}
	c.g->root = root;
	c.g->unconstrained = root == UINT32_MAX;
	if (!c.g->unconstrained) {
		compile_rules(&c, &starts);
		if (b->st == LMD_OK)
			lmi_gr_nfa_builder_sort_states(&c);
		if (b->st == LMD_OK)
			lmi_gr_nfa_builder_make_sets(&c);
		if (b->st == LMD_OK)
			lmi_gr_nfa_builder_make_rules(&c, starts);
	}
	lmi_free(starts);
	lmi_free(c.edge);
	lmi_free(c.accept);
	lmi_free(c.rule_of);
	lmi_free(c.set);
	lmi_free(c.set_index);
	if (b->st != LMD_OK) {
		lmi_grammar_destroy(c.g);
		return b->st;
	}
	*out = c.g;
	return LMD_OK;
}

void lmi_grammar_destroy(struct lmi_grammar *g)
{
	if (!g)
		return;
	lmi_arena_destroy(g->arena);
	lmi_free(g);
}

uint64_t lmi_grammar_bytes(const struct lmi_grammar *g)
{
	return sizeof(*g) + lmi_arena_used(g->arena);
}

uint32_t lmi_gr_nfa_char_class(const struct lmi_grammar *g, uint32_t c)
{
	uint32_t lo = 0, hi = g->n_classes;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->first[mid] <= c)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

bool lmi_gr_nfa_set_intersects(const struct lmi_grammar *g, uint32_t set, uint32_t lo, uint32_t hi)
{
	const struct lmi_gr_nfa_class_range *r = g->range + g->set[set].range;
	uint32_t a = 0, b = g->set[set].n;

	/* find the first range that ends at lo or later */
	while (a < b) {
		uint32_t mid = a + (b - a) / 2;

		if (r[mid].hi < lo)
			a = mid + 1;
		else
			b = mid;
	}
	return a < g->set[set].n && r[a].lo <= hi;
}
