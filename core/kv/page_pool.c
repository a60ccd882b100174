/* SPDX-License-Identifier: MIT
 *
 * Reference-counted records with a free list linked through them.  Invariant: a record is on
 * the list if and only if its count is 0, and n_free is the length of the list. */
#include "core/kv/page_pool.h"

#include <assert.h>

#include "core/base/alloc.h"

static void list_append(struct lmi_page_pool *p, uint32_t page)
{
	p->rec[page].next = LMI_NO_PAGE;
	p->rec[page].prev = p->tail;
	if (p->tail == LMI_NO_PAGE)
		p->head = page;
	else
		p->rec[p->tail].next = page;
	p->tail = page;
	p->n_free++;
}

enum lmd_status lmi_page_pool_init(struct lmi_page_pool *p, uint32_t n_page)
{
	*p = (struct lmi_page_pool){.head = LMI_NO_PAGE, .tail = LMI_NO_PAGE};
	if (!n_page)
		return LMD_OK;
	if (n_page > LMI_PAGE_MAX)
		return LMD_INVALID;
	p->rec = lmi_alloc(n_page, sizeof(*p->rec));
	if (!p->rec)
		return LMD_NOMEM;
	p->n_page = n_page;
	for (uint32_t i = 0; i < n_page; i++)
		list_append(p, i);
	return LMD_OK;
}

void lmi_page_pool_fini(struct lmi_page_pool *p)
{
	lmi_free(p->rec);
	*p = (struct lmi_page_pool){0};
}

uint32_t lmi_page_take(struct lmi_page_pool *p)
{
	uint32_t page = p->n_free ? p->head : LMI_NO_PAGE;

	if (page == LMI_NO_PAGE)
		return page;
	p->head = p->rec[page].next;
	if (p->head == LMI_NO_PAGE)
		p->tail = LMI_NO_PAGE;
	else
		p->rec[p->head].prev = LMI_NO_PAGE;
	p->n_free--;
	p->rec[page].refs = 1;
	return page;
}

void lmi_page_ref(struct lmi_page_pool *p, uint32_t page)
{
	assert(page < p->n_page && p->rec[page].refs);
	p->rec[page].refs++;
}

void lmi_page_give(struct lmi_page_pool *p, uint32_t page)
{
	assert(page < p->n_page && p->rec[page].refs);
	if (!--p->rec[page].refs)
		list_append(p, page);
}

uint32_t lmi_page_refs(const struct lmi_page_pool *p, uint32_t page)
{
	assert(page < p->n_page);
	return p->rec[page].refs;
}

bool lmi_page_pool_check(const struct lmi_page_pool *p)
{
	uint32_t n = 0, n_zero = 0, prev = LMI_NO_PAGE;

	if (!p->n_page)
		return !p->n_free;
	for (uint32_t i = p->head; i != LMI_NO_PAGE; prev = i, i = p->rec[i].next) {
		if (i >= p->n_page || p->rec[i].refs || p->rec[i].prev != prev || n++ > p->n_page)
			return false;
	}
	for (uint32_t i = 0; i < p->n_page; i++)
		n_zero += !p->rec[i].refs;
	return p->tail == prev && n == p->n_free && n == n_zero;
}
