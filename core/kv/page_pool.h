/* SPDX-License-Identifier: MIT
 *
 * page_pool.h - reference-counted indices: the pages of a paged group, or the slots of a
 * state group.
 *
 * A page may have a node of the prefix tree, which says what it holds.  Free pages form a linked
 * list through their records; pages are taken from its head.  A page with a node returns to the
 * tail, so that it can be found until its memory is needed, and the least recently used one goes
 * first.  A page without a node returns to the head.  Pinned pages form a list of their own, from
 * which a page is taken only if no other is free.  All calls take constant time; nothing is
 * allocated after init.  Not thread-safe. */
#ifndef LLAMAD_CORE_KV_PAGE_POOL_H
#define LLAMAD_CORE_KV_PAGE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/prefix_tree.h"
#include "llamad/status.h"

#define LMI_KV_NO_PAGE UINT32_MAX

/* Maximum number of pages in a pool. */
#define LMI_KV_PAGE_MAX (1u << 28)

struct lmi_kv_page_rec {
	uint32_t refs;	     /* 0: on the free list */
	uint32_t next, prev; /* links of the free list; LMI_KV_NO_PAGE at its ends */
	uint32_t node;	     /* what it holds, or LMI_KV_NO_NODE */
	bool pinned;	     /* it has a node */
};

struct lmi_kv_page_list {
	uint32_t head, tail;
};

struct lmi_kv_page_pool {
	struct lmi_kv_page_rec *rec; /* [n_page] */
	uint32_t n_page, n_free;
	uint32_t n_cached; /* how many of n_free have a node */
	struct lmi_kv_page_list list[2]; /* free pages: the others; those that are pinned */
	struct lmi_kv_prefix_tree *tree; /* NULL until a page gets a node */
	uint32_t group;			 /* of these pages, in the tree */
	uint64_t n_evicted;		 /* cached pages that were taken */
};

/* Returns LMD_NOMEM, or LMD_INVALID if n_page > LMI_KV_PAGE_MAX.  n_page may be 0: such a pool is
 * always empty.  The caller sets tree and group. */
enum lmd_status lmi_kv_page_pool_init(struct lmi_kv_page_pool *p, uint32_t n_page);
/* Accepts a zeroed pool. */
void lmi_kv_page_pool_fini(struct lmi_kv_page_pool *p);

/* Takes a free page, with one reference; it loses its node.  Returns LMI_KV_NO_PAGE if none is
 * free. */
uint32_t lmi_kv_page_take(struct lmi_kv_page_pool *p);
/* Adds a reference to a page that is in use or has a node. */
void lmi_kv_page_ref(struct lmi_kv_page_pool *p, uint32_t page);
/* Drops a reference; dropping the last one frees the page. */
void lmi_kv_page_release(struct lmi_kv_page_pool *p, uint32_t page);
uint32_t lmi_kv_page_refs(const struct lmi_kv_page_pool *p, uint32_t page);

/* Returns the node of a page, or LMI_KV_NO_NODE. */
uint32_t lmi_kv_page_node(const struct lmi_kv_page_pool *p, uint32_t page);
/* Gives a page in use this node in place of the one that it may have. */
void lmi_kv_page_set_node(struct lmi_kv_page_pool *p, uint32_t page, uint32_t node);
/* Pins a page that has a node, or ends that. */
void lmi_kv_page_pin(struct lmi_kv_page_pool *p, uint32_t page, bool pinned);
/* Takes the node from a page in use, because its contents will change. */
void lmi_kv_page_forget(struct lmi_kv_page_pool *p, uint32_t page);

/* Do the free list and the counts agree?  O(n_page); for tests. */
bool lmi_kv_page_pool_check(const struct lmi_kv_page_pool *p);

#endif /* LLAMAD_CORE_KV_PAGE_POOL_H */
