/* SPDX-License-Identifier: MIT
 *
 * nfa.h - a compiled grammar: NFA states and edges, character classes, rules.
 *
 * A state stands between two elements of a rule. An edge consumes nothing, a character of a set, a
 * token, or whatever another rule matches. Characters that no set distinguishes form one class, so
 * that a set is a few ranges of classes. */
#ifndef LLAMAD_CORE_GRAMMAR_NFA_H
#define LLAMAD_CORE_GRAMMAR_NFA_H

#include "core/base/arena.h"
#include "core/grammar/grammar.h"

/* Maximum number of states in one grammar; there are at most a few times as many edges. */
#define LMI_GR_NFA_STATES_MAX 2000000

enum lmi_gr_edge_kind {
	LMI_GR_EDGE_EMPTY,
	LMI_GR_EDGE_CHARS,    /* arg: set */
	LMI_GR_EDGE_RULE,     /* arg: rule */
	LMI_GR_EDGE_TOKEN,    /* arg: token */
	LMI_GR_EDGE_NOT_TOKEN /* arg: token */
};

struct lmi_gr_nfa_edge {
	uint32_t to;
	uint32_t arg;
	uint32_t kind; /* enum lmi_gr_edge_kind */
};

struct lmi_gr_nfa_state {
	uint32_t edge, n_edges; /* edge[edge .. edge + n_edges) */
	bool accept;            /* the rule may end here */
	bool consumes;          /* has edges for characters or tokens */
	bool only_accept;       /* accepts and has no edges: a call to here is a tail call */
};

struct lmi_gr_nfa_rule {
	uint32_t start;
	uint32_t rank; /* rules that this rule calls before it consumes anything have a higher
		        * rank */
	bool nullable;
};

struct lmi_gr_nfa_class_range {
	uint32_t lo, hi; /* classes, inclusive */
};

struct lmi_gr_nfa_set {
	uint32_t range, n; /* range[range .. range + n) */
};

struct lmi_grammar {
	struct lmd_arena *arena;
	bool unconstrained; /* constrains nothing */
	uint32_t root;
	struct lmi_gr_nfa_state *state;
	struct lmi_gr_nfa_edge *edge;
	struct lmi_gr_nfa_rule *rule;
	uint32_t *by_rank; /* [n_rules] rules in order of rank */
	struct lmi_gr_nfa_set *set;
	struct lmi_gr_nfa_class_range *range;
	uint32_t *first; /* [n_classes] first character of each class, ascending from 0 */
	uint32_t n_states, n_edges, n_rules, n_sets, n_ranges, n_classes;
	uint8_t ascii[128]; /* class of each ASCII character; an ASCII class fits in a byte */
};

/* Returns the class of a character below LMI_GRAMMAR_CHAR_END. */
uint32_t lmi_gr_nfa_char_class(const struct lmi_grammar *g, uint32_t c);
/* Returns true if any of the classes lo..hi is in the set. */
bool lmi_gr_nfa_set_intersects(const struct lmi_grammar *g, uint32_t set, uint32_t lo, uint32_t hi);

#endif /* LLAMAD_CORE_GRAMMAR_NFA_H */
