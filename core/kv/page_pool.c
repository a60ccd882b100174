/* SPDX-License-Identifier: MIT
 *
 * Reference-counted records with a free list linked through them.  Invariants: a record is on
 * the list if and only if its count is 0, and n_free is the length of the list; a record names a
 * node if and only if the node names the page. */
#include "core/kv/page_pool.h"

#include <assert.h>

#include "core/base/alloc.h"

/* The list that a page belongs to if it is free. */
static struct lmi_kv_page_list *list_of(struct lmi_kv_page_pool *p, uint32_t page)
{
	return &p->list[p->rec[page].pinned];
}

static void list_append(struct lmi_kv_page_pool *p, uint32_t page)
{
	struct lmi_kv_page_list *l = list_of(p, page);

	p->rec[page].next = LMI_KV_NO_PAGE;
	p->rec[page].prev = l->tail;
	*(l->tail == LMI_KV_NO_PAGE ? &l->head : &p->rec[l->tail].next) = page;
	l->tail = page;
	p->n_free++;
}

static void list_prepend(struct lmi_kv_page_pool *p, uint32_t page)
{
	struct lmi_kv_page_list *l = list_of(p, page);

	p->rec[page].prev = LMI_KV_NO_PAGE;
	p->rec[page].next = l->head;
	*(l->head == LMI_KV_NO_PAGE ? &l->tail : &p->rec[l->head].prev) = page;
	l->head = page;
	p->n_free++;
}

static void list_remove(struct lmi_kv_page_pool *p, uint32_t page)
{
	const struct lmi_kv_page_rec *r = &p->rec[page];
	struct lmi_kv_page_list *l = list_of(p, page);

	*(r->prev == LMI_KV_NO_PAGE ? &l->head : &p->rec[r->prev].next) = r->next;
	*(r->next == LMI_KV_NO_PAGE ? &l->tail : &p->rec[r->next].prev) = r->prev;
	p->n_free--;
}

enum lmd_status lmi_kv_page_pool_init(struct lmi_kv_page_pool *p, uint32_t n_page)
{
	*p = (struct lmi_kv_page_pool){.list = {{LMI_KV_NO_PAGE, LMI_KV_NO_PAGE},
						{LMI_KV_NO_PAGE, LMI_KV_NO_PAGE}}};
	if (!n_page)
		return LMD_OK;
	if (n_page > LMI_KV_PAGE_MAX)
		return LMD_INVALID;
	p->rec = lmi_alloc(n_page, sizeof(*p->rec));
	if (!p->rec)
		return LMD_NOMEM;
	p->n_page = n_page;
	for (uint32_t i = 0; i < n_page; i++) {
		p->rec[i].node = LMI_KV_NO_NODE;
		list_append(p, i);
	}
	return LMD_OK;
}

void lmi_kv_page_pool_fini(struct lmi_kv_page_pool *p)
{
	lmi_free(p->rec);
	*p = (struct lmi_kv_page_pool){0};
}

uint32_t lmi_kv_page_take(struct lmi_kv_page_pool *p)
{
	uint32_t page = LMI_KV_NO_PAGE;

	if (p->n_free)
		page = p->list[p->list[0].head == LMI_KV_NO_PAGE].head;
	if (page == LMI_KV_NO_PAGE)
		return page;
	list_remove(p, page);
	p->rec[page].refs = 1;
	if (p->rec[page].node != LMI_KV_NO_NODE) {
		p->n_cached--;
		p->n_evicted++;
		lmi_kv_page_forget(p, page);
	}
	return page;
}

void lmi_kv_page_ref(struct lmi_kv_page_pool *p, uint32_t page)
{
	struct lmi_kv_page_rec *r = &p->rec[page];

	assert(page < p->n_page && (r->refs || r->node != LMI_KV_NO_NODE));
	if (!r->refs++) {
		list_remove(p, page);
		p->n_cached--;
	}
}

void lmi_kv_page_release(struct lmi_kv_page_pool *p, uint32_t page)
{
	assert(page < p->n_page && p->rec[page].refs);
	if (--p->rec[page].refs)
		return;
	if (p->rec[page].node == LMI_KV_NO_NODE) {
		list_prepend(p, page);
		return;
	}
	list_append(p, page);
	p->n_cached++;
}

uint32_t lmi_kv_page_node(const struct lmi_kv_page_pool *p, uint32_t page)
{
	assert(page < p->n_page);
	return p->rec[page].node;
}

void lmi_kv_page_forget(struct lmi_kv_page_pool *p, uint32_t page)
{
	uint32_t node = p->rec[page].node;

	assert(page < p->n_page && p->rec[page].refs);
	if (node == LMI_KV_NO_NODE)
		return;
	p->rec[page].node = LMI_KV_NO_NODE;
	p->rec[page].pinned = false;
	lmi_kv_prefix_detach(p->tree, node, p->group);
}

void lmi_kv_page_pin(struct lmi_kv_page_pool *p, uint32_t page, bool pinned)
{
	struct lmi_kv_page_rec *r = &p->rec[page];

	assert(page < p->n_page && r->node != LMI_KV_NO_NODE);
	if (r->refs || r->pinned == pinned) {
		r->pinned = pinned;
		return;
	}
	list_remove(p, page);
	r->pinned = pinned;
	list_append(p, page);
}

void lmi_kv_page_set_node(struct lmi_kv_page_pool *p, uint32_t page, uint32_t node)
{
	assert(page < p->n_page && p->rec[page].refs);
	lmi_kv_prefix_attach(p->tree, node, p->group, page);
	lmi_kv_page_forget(p, page);
	p->rec[page].node = node;
	p->rec[page].pinned = p->tree->node[node].pin_until != 0;
}

uint32_t lmi_kv_page_refs(const struct lmi_kv_page_pool *p, uint32_t page)
{
	assert(page < p->n_page);
	return p->rec[page].refs;
}

static bool check_list(const struct lmi_kv_page_pool *p, bool pinned, uint32_t *n)
{
	uint32_t prev = LMI_KV_NO_PAGE;

	for (uint32_t i = p->list[pinned].head; i != LMI_KV_NO_PAGE; prev = i, i = p->rec[i].next) {
		if (i >= p->n_page || p->rec[i].refs || p->rec[i].prev != prev ||
		    p->rec[i].pinned != pinned || (*n)++ > p->n_page)
			return false;
	}
	return p->list[pinned].tail == prev;
}

bool lmi_kv_page_pool_check(const struct lmi_kv_page_pool *p)
{
	uint32_t n = 0, n_zero = 0, n_cached = 0;

	if (!p->n_page)
		return !p->n_free;
	if (!check_list(p, false, &n) || !check_list(p, true, &n))
		return false;
	for (uint32_t i = 0; i < p->n_page; i++) {
		const struct lmi_kv_page_rec *r = &p->rec[i];
		const struct lmi_kv_node *node =
			r->node == LMI_KV_NO_NODE ? NULL : &p->tree->node[r->node];

		n_zero += !r->refs;
		n_cached += !r->refs && node;
		if (node && node->page[p->group] != i)
			return false;
		if (r->pinned != (node && node->pin_until))
			return false;
	}
	return n == p->n_free && n == n_zero && n_cached == p->n_cached;
}
