/* SPDX-License-Identifier: MIT
 *
 * prefix_tree.h - which token sequences the pages and state slots of a model hold.
 *
 * A node stands for the tokens of one logical page after all tokens of its parents, up to a root,
 * which has none. The first pages of a sequence are full; a node with fewer tokens than a page is
 * the end of a sequence and has no children. A node names the page, or the state after its last
 * token, that each group has of it. It lives as long as it has a page, a slot, a child or an open
 * sequence; so it always leads to a root, and what it stands for is exact: equal tokens all the way.
 * The keyed hash only finds candidates.
 *
 * Rows depend on who computes them (adapter) and may be shared only within a tenant; so each such
 * identity has a root of its own.
 *
 * Not thread-safe; nothing is allocated after init, but for an index of pages that somebody asks for. */
#ifndef LLAMAD_CORE_KV_PREFIX_TREE_H
#define LLAMAD_CORE_KV_PREFIX_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/page_index.h"
#include "llamad/status.h"
#include "llamad/step.h"
#include "llamad/types.h"

#define LMI_KV_NO_NODE UINT32_MAX

/* Sequences of different identity never share anything. */
struct lmi_kv_identity {
	uint64_t tenant;
	uint64_t adapter; /* what stands for the adapter and its files; 0 = none */
};

struct lmi_kv_node {
	struct lmi_kv_identity id;
	uint32_t parent;	/* LMI_KV_NO_NODE: a root */
	uint32_t child;		/* the newest one, or LMI_KV_NO_NODE */
	uint32_t next, prev;	/* siblings; roots and free nodes: next in their list */
	uint32_t bucket_next;	/* nodes of the same hash bucket */
	uint32_t n_ref;		/* children, pages, slots and sequences; 0: free */
	uint32_t n_tok;		/* 1 to page_tokens; 0: a root */
	uint32_t index;		/* of its logical page */
	uint64_t hash;
	uint32_t page[LMD_MAX_GROUP]; /* page or slot of each group, or LMI_KV_NO_PAGE */
	uint64_t pin_until; /* 0: it is not pinned */
	uint64_t pin_owner;
	uint32_t pin_next, pin_prev; /* the list of pinned nodes */
};

struct lmi_kv_prefix_tree {
	struct lmi_kv_node *node; /* [n_node] */
	lmd_token *token;	  /* [n_node][page_tokens] */
	uint32_t *bucket;	  /* [n_bucket] first node of each hash bucket */
	uint32_t n_node, n_used, n_bucket, page_tokens;
	uint32_t free; /* list of free nodes */
	uint32_t pinned, n_pinned; /* list of pinned nodes */
	struct lmi_kv_page_index pages; /* all zero until lmi_kv_prefix_index_pages */
	uint64_t key[2];
};

/* n_node may be 0: such a tree never has a node. LMD_NOMEM; LMD_INVALID: n_node exceeds 2^28. */
enum lmd_status lmi_kv_prefix_tree_init(struct lmi_kv_prefix_tree *t, uint32_t n_node,
					uint32_t page_tokens, const uint64_t key[2]);
/* Accepts a zeroed tree. */
void lmi_kv_prefix_tree_fini(struct lmi_kv_prefix_tree *t);

/* Return the root of an identity, or the child of a node with exactly these n tokens;
 * LMI_KV_NO_NODE: there is none. */
uint32_t lmi_kv_prefix_root(const struct lmi_kv_prefix_tree *t, const struct lmi_kv_identity *id);
uint32_t lmi_kv_prefix_child(const struct lmi_kv_prefix_tree *t, uint32_t parent,
			     const lmd_token *tokens, uint32_t n);
/* Add what the two functions above have not found. The new node has no reference; the caller adds
 * one before the next call. Return LMI_KV_NO_NODE if all nodes are in use. */
uint32_t lmi_kv_prefix_add_root(struct lmi_kv_prefix_tree *t, const struct lmi_kv_identity *id);
uint32_t lmi_kv_prefix_add_child(struct lmi_kv_prefix_tree *t, uint32_t parent,
				 const lmd_token *tokens, uint32_t n);
/* Returns how many of these n tokens a node begins with. */
uint32_t lmi_kv_prefix_common(const struct lmi_kv_prefix_tree *t, uint32_t node,
			      const lmd_token *tokens, uint32_t n);

void lmi_kv_prefix_ref(struct lmi_kv_prefix_tree *t, uint32_t node);
/* Drops a reference; a node without any is freed, and so are its parents if nothing else needs
 * them. */
void lmi_kv_prefix_unref(struct lmi_kv_prefix_tree *t, uint32_t node);

/* Keeps an index of the whole pages in t->pages from now on, whose owners are lmi_kv_prefix_owner. LMD_NOMEM. */
enum lmd_status lmi_kv_prefix_index_pages(struct lmi_kv_prefix_tree *t);
uint64_t lmi_kv_prefix_owner(const struct lmi_kv_prefix_tree *t, const struct lmi_kv_identity *id);

/* Names the page of a group that holds a node; the group must have none of it. */
void lmi_kv_prefix_attach(struct lmi_kv_prefix_tree *t, uint32_t node, uint32_t group,
			  uint32_t page);
/* The page of a group no longer holds the node, which may be freed. */
void lmi_kv_prefix_detach(struct lmi_kv_prefix_tree *t, uint32_t node, uint32_t group);

/* Pins a node that has a page for an owner, or extends its pin. The caller pins its pages. */
void lmi_kv_prefix_pin(struct lmi_kv_prefix_tree *t, uint32_t node, uint64_t owner, uint64_t until);
/* Ends the pin of a node. A node that has lost its last page is not pinned. */
void lmi_kv_prefix_unpin(struct lmi_kv_prefix_tree *t, uint32_t node);
/* Do links, hashes and counts agree? n_seq_ref: references of sequences. For tests. */
bool lmi_kv_prefix_tree_check(const struct lmi_kv_prefix_tree *t, uint64_t n_seq_ref);

#endif /* LLAMAD_CORE_KV_PREFIX_TREE_H */
