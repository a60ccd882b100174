/* SPDX-License-Identifier: MIT
 *
 * draft.h - an NFA under construction, shared by net.c, which creates states and edges, and
 * draft.c, which turns them into a grammar. */
#ifndef LLAMAD_GRAMMAR_DRAFT_H
#define LLAMAD_GRAMMAR_DRAFT_H

#include "core/grammar/expr.h"
#include "core/grammar/net.h"

struct lmi_draft_edge {
	uint32_t from;
	struct lmi_edge e;
};

/* A character set before its characters have been mapped to classes. */
struct lmi_draft_set {
	const struct lmi_grange *r;
	uint32_t n, hash;
};

struct lmi_draft {
	struct lmi_gbuild *b;
	struct lmi_grammar *g;
	struct lmi_draft_edge *edge;
	uint8_t *accept;   /* [n_states] */
	uint32_t *rule_of; /* [n_states] */
	struct lmi_draft_set *set;
	uint32_t *set_index; /* open addressing: set + 1 */
	uint32_t n_states, cap_states, n_edges, cap_edges, n_sets, cap_sets, n_index;
	uint32_t rule; /* the rule being compiled */
};

void lmi_draft_no_memory(struct lmi_draft *c);

/* These run in this order, each only if nothing has failed so far (c->b->st): sort states and
 * edges; compute the character classes and the sets made of them; compute the rules and their
 * ranks. starts: [n_rules] start state of each rule. */
void lmi_draft_states(struct lmi_draft *c);
void lmi_draft_sets(struct lmi_draft *c);
void lmi_draft_rules(struct lmi_draft *c, const uint32_t *starts);

#endif /* LLAMAD_GRAMMAR_DRAFT_H */
