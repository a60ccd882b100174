/* SPDX-License-Identifier: MIT
 *
 * page_pool.h - numbered things with reference counts: the pages of a paged group, or the
 * slots of a state group.
 *
 * Pure bookkeeping: nothing here knows what a page holds.  Free ones form a list through
 * their own records; taking is from the head, giving to the tail, so that what was freed
 * last is reused last.  All calls are constant time; nothing is allocated after init.
 * One thread at a time. */
#ifndef LLAMAD_CORE_KV_PAGE_POOL_H
#define LLAMAD_CORE_KV_PAGE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_NO_PAGE UINT32_MAX

/* The greatest number of pages of a pool. */
#define LMI_PAGE_MAX (1u << 28)

struct lmi_page_rec {
	uint32_t refs;	     /* 0: on the free list */
	uint32_t next, prev; /* on the free list; LMI_NO_PAGE at its ends */
};

struct lmi_page_pool {
	struct lmi_page_rec *rec; /* [n_page] */
	uint32_t n_page, n_free;
	uint32_t head, tail;
};

/* LMD_NOMEM, or LMD_INVALID beyond LMI_PAGE_MAX.  n_page 0 makes a pool that is always empty. */
enum lmd_status lmi_page_pool_init(struct lmi_page_pool *p, uint32_t n_page);
/* A zeroed pool is fine. */
void lmi_page_pool_fini(struct lmi_page_pool *p);

/* A free page with one reference, or LMI_NO_PAGE. */
uint32_t lmi_page_take(struct lmi_page_pool *p);
/* One more reference on a page in use. */
void lmi_page_ref(struct lmi_page_pool *p, uint32_t page);
/* One reference less; the last one frees it. */
void lmi_page_give(struct lmi_page_pool *p, uint32_t page);
uint32_t lmi_page_refs(const struct lmi_page_pool *p, uint32_t page);

/* Free list and counts agree?  O(n_page), for tests. */
bool lmi_page_pool_check(const struct lmi_page_pool *p);

#endif /* LLAMAD_CORE_KV_PAGE_POOL_H */
