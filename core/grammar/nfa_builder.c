/* SPDX-License-Identifier: MIT
 *
 * Builds a grammar from an NFA under construction. Two questions are answered for all rules at
 * once, by walking every rule from its start as long as nothing is consumed: which rules can match
 * the empty text, and which rules do they call before they consume anything? If these calls form
 * no cycle, they define an order, which matching needs; a cycle is left recursion. */
#include "core/grammar/nfa_builder.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"

/* Steps for a state, and for a range of a set. */
#define STATE_STEPS 4
#define SET_STEPS   8
/* States or edges between two looks at the cancel word; two take as long as a step. */
#define LOOK_ITEMS 4096

static void *copy_to_arena(struct lmi_gr_nfa_builder *c, uint64_t n, size_t item)
{
	void *p = lmi_arena_array(c->g->arena, n ? n : 1, item);

	if (!p)
		lmi_gr_nfa_builder_no_memory(c);
	return p;
}

/* Follows states whose only edge is empty and returns where they lead. */
static uint32_t resolve(const struct lmi_gr_nfa_state *s, const struct lmi_gr_nfa_edge *e,
			uint32_t i)
{
	for (uint32_t hops = 0; hops < 64; hops++) { /* a cycle of empty edges is kept as it is */
		if (s[i].accept || s[i].n_edges != 1 || e[s[i].edge].kind != LMI_GR_EDGE_EMPTY)
			break;
		i = e[s[i].edge].to;
	}
	return i;
}

/* Looks at the cancel word in a loop over states or edges; i: the index. Returns false after an
 * error. */
static bool look(struct lmi_gr_nfa_builder *c, uint32_t i)
{
	if (!(i % LOOK_ITEMS))
		lmi_grammar_builder_step(c->b, LOOK_ITEMS / 2);
	return c->b->st == LMD_OK;
}

void lmi_gr_nfa_builder_sort_states(struct lmi_gr_nfa_builder *c)
{
	struct lmi_grammar *g = c->g;
	uint32_t at = 0;

	g->n_states = c->n_states;
	g->n_edges = c->n_edges;
	g->state = copy_to_arena(c, g->n_states, sizeof(*g->state));
	g->edge = copy_to_arena(c, g->n_edges, sizeof(*g->edge));
	if (!g->state || !g->edge)
		return;
	for (uint32_t i = 0; i < c->n_edges && look(c, i); i++)
		g->state[c->edge[i].from].n_edges++;
	for (uint32_t i = 0; i < g->n_states && look(c, i); i++) {
		g->state[i].edge = at;
		at += g->state[i].n_edges;
		g->state[i].n_edges = 0;
		g->state[i].accept = c->accept[i];
	}
	for (uint32_t i = 0; i < c->n_edges && look(c, i); i++) {
		struct lmi_gr_nfa_state *s = &g->state[c->edge[i].from];

		g->edge[s->edge + s->n_edges++] = c->edge[i].e;
		s->consumes |= c->edge[i].e.kind != LMI_GR_EDGE_EMPTY &&
			       c->edge[i].e.kind != LMI_GR_EDGE_RULE;
	}
	for (uint32_t i = 0; i < g->n_edges && look(c, i); i++)
		g->edge[i].to = resolve(g->state, g->edge, g->edge[i].to);
	for (uint32_t i = 0; i < g->n_states; i++)
		g->state[i].only_accept = g->state[i].accept && !g->state[i].n_edges;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (!lmi_cancel_step(1)) /* the order no longer matters */
		return 0;
	return (x > y) - (x < y);
}

/* Every boundary of a range starts a class. */
static void make_classes(struct lmi_gr_nfa_builder *c)
{
	struct lmi_grammar *g = c->g;
	uint64_t n = 1, k = 0;

	for (uint32_t i = 0; i < c->n_sets; i++) {
		n += 2 * (uint64_t)c->set[i].n;
		g->n_ranges += c->set[i].n;
	}
	g->first = copy_to_arena(c, n, sizeof(*g->first));
	if (!g->first)
		return;
	g->first[k++] = 0;
	for (uint32_t i = 0; i < c->n_sets; i++) {
		for (uint32_t j = 0; j < c->set[i].n; j++) {
			g->first[k++] = c->set[i].r[j].lo;
			g->first[k++] = c->set[i].r[j].hi + 1;
		}
	}
	qsort(g->first, k, sizeof(*g->first), by_value);
	lmi_grammar_builder_step(c->b, 1);
	if (c->b->st != LMD_OK)
		return;
	for (uint64_t i = 0; i < k; i++) {
		if (!g->n_classes || g->first[i] != g->first[g->n_classes - 1])
			g->first[g->n_classes++] = g->first[i];
	}
	for (uint32_t i = 0; i < 128; i++)
		g->ascii[i] = (uint8_t)lmi_gr_nfa_char_class(g, i);
}

void lmi_gr_nfa_builder_make_sets(struct lmi_gr_nfa_builder *c)
{
	struct lmi_grammar *g = c->g;
	uint32_t at = 0;

	make_classes(c);
	if (c->b->st != LMD_OK)
		return;
	g->n_sets = c->n_sets;
	g->set = copy_to_arena(c, g->n_sets, sizeof(*g->set));
	g->range = copy_to_arena(c, g->n_ranges, sizeof(*g->range));
	if (!g->first || !g->set || !g->range)
		return;
	for (uint32_t i = 0; i < c->n_sets && c->b->st == LMD_OK; i++) {
		lmi_grammar_builder_step(c->b, SET_STEPS * ((uint64_t)c->set[i].n + 1));
		g->set[i] = (struct lmi_gr_nfa_set){at, c->set[i].n};
		for (uint32_t j = 0; j < c->set[i].n; j++)
			g->range[at++] = (struct lmi_gr_nfa_class_range){
				lmi_gr_nfa_char_class(g, c->set[i].r[j].lo),
				lmi_gr_nfa_char_class(g, c->set[i].r[j].hi)};
	}
}

/* What is reached before anything is consumed */

struct walk {
	struct lmi_gr_nfa_builder *c;
	uint8_t *reached; /* [n_states] reached from the start of its rule */
	uint32_t *stack, n_stack;
	uint32_t *waiting;    /* [n_edges] next edge that waits for the same rule, + 1 */
	uint32_t *first_wait; /* [n_rules] + 1 */
};

static void reach(struct walk *w, uint32_t state)
{
	if (w->reached[state])
		return;
	w->reached[state] = 1;
	w->stack[w->n_stack++] = state;
}

static void visit(struct walk *w, uint32_t state)
{
	struct lmi_grammar *g = w->c->g;
	const struct lmi_gr_nfa_state *s = &g->state[state];
	uint32_t rule = w->c->rule_of[state];

	lmi_grammar_builder_step(w->c->b, STATE_STEPS + s->n_edges);
	for (uint32_t i = s->edge; i < s->edge + s->n_edges; i++) {
		const struct lmi_gr_nfa_edge *e = &g->edge[i];

		if (e->kind == LMI_GR_EDGE_EMPTY ||
		    (e->kind == LMI_GR_EDGE_RULE && g->rule[e->arg].nullable)) {
			reach(w, e->to);
		} else if (e->kind == LMI_GR_EDGE_RULE) {
			w->waiting[i] = w->first_wait[e->arg];
			w->first_wait[e->arg] = i + 1;
		}
	}
	if (!s->accept || g->rule[rule].nullable)
		return;
	g->rule[rule].nullable = true;
	for (uint32_t i = w->first_wait[rule]; i; i = w->waiting[i - 1])
		reach(w, g->edge[i - 1].to);
}

/* Ranks order callers before the rules that they call first; a rule left without a rank is in a
 * cycle. */
static void rank_rules(struct walk *w)
{
	struct lmi_grammar *g = w->c->g;
	uint32_t *callers = w->first_wait, done = 0, n = 0; /* reuses the array: the walk is over */

	memset(callers, 0, g->n_rules * sizeof(*callers));
	for (uint32_t i = 0; i < g->n_states && look(w->c, i); i++) {
		for (uint32_t k = 0; w->reached[i] && k < g->state[i].n_edges; k++) {
			const struct lmi_gr_nfa_edge *e = &g->edge[g->state[i].edge + k];

			if (e->kind == LMI_GR_EDGE_RULE)
				callers[e->arg]++;
		}
	}
	for (uint32_t r = 0; r < g->n_rules; r++) {
		if (!callers[r])
			g->by_rank[n++] = r;
	}
	/* the states of a rule have consecutive numbers, from its start up to the next rule's
	 * start */
	for (; done < n && look(w->c, done); done++) {
		uint32_t r = g->by_rank[done];

		g->rule[r].rank = done;
		for (uint32_t i = g->rule[r].start; i < g->n_states && w->c->rule_of[i] == r; i++) {
			for (uint32_t k = 0; w->reached[i] && k < g->state[i].n_edges; k++) {
				const struct lmi_gr_nfa_edge *e = &g->edge[g->state[i].edge + k];

				if (e->kind == LMI_GR_EDGE_RULE && !--callers[e->arg])
					g->by_rank[n++] = e->arg;
			}
		}
	}
	for (uint32_t r = 0; r < g->n_rules && n < g->n_rules && w->c->b->st == LMD_OK; r++) {
		if (callers[r]) {
			lmi_grammar_builder_fail(
				w->c->b, LMD_INVALID,
				"grammar: rule '%.100s' calls itself before it consumes a "
				"character (left recursion)",
				w->c->b->name[r]);
			return;
		}
	}
}

void lmi_gr_nfa_builder_make_rules(struct lmi_gr_nfa_builder *c, const uint32_t *starts)
{
	struct lmi_grammar *g = c->g;
	struct walk w = {.c = c};

	g->n_rules = c->b->n_rules;
	g->rule = copy_to_arena(c, g->n_rules, sizeof(*g->rule));
	g->by_rank = copy_to_arena(c, g->n_rules, sizeof(*g->by_rank));
	w.reached = lmi_alloc(g->n_states, 1);
	w.stack = lmi_alloc(g->n_states, sizeof(*w.stack));
	w.waiting = lmi_alloc((size_t)g->n_edges + 1, sizeof(*w.waiting));
	w.first_wait = lmi_alloc((size_t)g->n_rules + 1, sizeof(*w.first_wait));
	if (!g->rule || !g->by_rank || !w.reached || !w.stack || !w.waiting || !w.first_wait) {
		lmi_gr_nfa_builder_no_memory(c);
	} else {
		for (uint32_t r = 0; r < g->n_rules; r++)
			g->rule[r].start = starts[r];
		for (uint32_t r = 0; r < g->n_rules; r++)
			reach(&w, starts[r]);
		while (w.n_stack && c->b->st == LMD_OK)
			visit(&w, w.stack[--w.n_stack]);
		if (c->b->st == LMD_OK)
			rank_rules(&w);
		for (uint32_t r = 0; r < g->n_rules; r++)
			g->rule[r].start = resolve(g->state, g->edge, starts[r]);
	}
	lmi_free(w.reached);
	lmi_free(w.stack);
	lmi_free(w.waiting);
	lmi_free(w.first_wait);
}
