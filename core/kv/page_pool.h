/* SPDX-License-Identifier: MIT
 *
 * page_pool.h - reference-counted indices: the pages of a paged group, or the slots of a
 * state group.
 *
 * Pure bookkeeping: nothing here knows what a page holds.  Free pages form a linked list
 * through their records.  Pages are taken from the head and returned to the tail, so that the
 * most recently freed page is reused last.  All calls take constant time; nothing is allocated
 * after init.  Not thread-safe. */
#ifndef LLAMAD_CORE_KV_PAGE_POOL_H
#define LLAMAD_CORE_KV_PAGE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_NO_PAGE UINT32_MAX

/* Maximum number of pages in a pool. */
#define LMI_PAGE_MAX (1u << 28)

struct lmi_page_rec {
	uint32_t refs;	     /* 0: on the free list */
	uint32_t next, prev; /* links of the free list; LMI_NO_PAGE at its ends */
};

struct lmi_page_pool {
	struct lmi_page_rec *rec; /* [n_page] */
	uint32_t n_page, n_free;
	uint32_t head, tail;
};

/* Returns LMD_NOMEM, or LMD_INVALID if n_page > LMI_PAGE_MAX.  n_page may be 0: such a pool is
 * always empty. */
enum lmd_status lmi_page_pool_init(struct lmi_page_pool *p, uint32_t n_page);
/* Accepts a zeroed pool. */
void lmi_page_pool_fini(struct lmi_page_pool *p);

/* Takes a free page, with one reference.  Returns LMI_NO_PAGE if none is free. */
uint32_t lmi_page_take(struct lmi_page_pool *p);
/* Adds a reference to a page in use. */
void lmi_page_ref(struct lmi_page_pool *p, uint32_t page);
/* Drops a reference; dropping the last one frees the page. */
void lmi_page_give(struct lmi_page_pool *p, uint32_t page);
uint32_t lmi_page_refs(const struct lmi_page_pool *p, uint32_t page);

/* Do the free list and the counts agree?  O(n_page); for tests. */
bool lmi_page_pool_check(const struct lmi_page_pool *p);

#endif /* LLAMAD_CORE_KV_PAGE_POOL_H */
