/* SPDX-License-Identifier: MIT
 *
 * nfa_builder.h - an NFA under construction, shared by nfa.c, which creates states and edges, and
 * nfa_builder.c, which turns them into a grammar. */
#ifndef LLAMAD_CORE_GRAMMAR_NFA_BUILDER_H
#define LLAMAD_CORE_GRAMMAR_NFA_BUILDER_H

#include "core/grammar/expr.h"
#include "core/grammar/nfa.h"

struct lmi_gr_nfa_builder_edge {
	uint32_t from;
	struct lmi_gr_nfa_edge e;
};

/* A character set before its characters have been mapped to classes. */
struct lmi_gr_nfa_builder_set {
	const struct lmi_gr_char_range *r;
	uint32_t n, hash;
};

struct lmi_gr_nfa_builder {
	struct lmi_grammar_builder *b;
	struct lmi_grammar *g;
	struct lmi_gr_nfa_builder_edge *edge;
	uint8_t *accept;   /* [n_states] */
	uint32_t *rule_of; /* [n_states] */
	struct lmi_gr_nfa_builder_set *set;
	uint32_t *set_index; /* open addressing: set + 1 */
	uint32_t n_states, cap_states, n_edges, cap_edges, n_sets, cap_sets, n_index;
	uint32_t rule; /* the rule being compiled */
};

void lmi_gr_nfa_builder_no_memory(struct lmi_gr_nfa_builder *c);

/* These run in this order, each only if nothing has failed so far (c->b->st): sort states and
 * edges; compute the character classes and the sets made of them; compute the rules and their
 * ranks. starts: [n_rules] start state of each rule. */
void lmi_gr_nfa_builder_sort_states(struct lmi_gr_nfa_builder *c);
void lmi_gr_nfa_builder_make_sets(struct lmi_gr_nfa_builder *c);
void lmi_gr_nfa_builder_make_rules(struct lmi_gr_nfa_builder *c, const uint32_t *starts);

#endif /* LLAMAD_CORE_GRAMMAR_NFA_BUILDER_H */
