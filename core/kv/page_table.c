/* SPDX-License-Identifier: MIT
 *
 * Page tables of one group.  Invariant: the reference count of a page is the number of table
 * entries that name it, within the spans of all sequences.  An entry outside its sequence's
 * span is stale and has no meaning; the device may keep stale entries as well, because no
 * interval reaches them. */
#include "core/kv/page_table.h"

#include <assert.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"

enum lmd_status lmi_kv_page_table_init(struct lmi_kv_page_table *t, uint32_t n_page,
				       uint32_t page_tokens, uint32_t n_seq, uint32_t n_index)
{
	uint64_t n;
	enum lmd_status st;

	*t = (struct lmi_kv_page_table){
		.page_tokens = page_tokens, .n_seq = n_seq, .n_index = n_index};
	assert(page_tokens && !(page_tokens & (page_tokens - 1)));
	/* physical rows are int32 */
	if (!lmi_mul_ok(n_page, page_tokens, &n) || n > INT32_MAX ||
	    !lmi_mul_ok(n_seq, n_index, &n) || n > LMI_KV_PAGE_MAX)
		return LMD_INVALID;
	st = lmi_kv_page_pool_init(&t->pool, n_page);
	if (st != LMD_OK)
		return st;
	t->page = lmi_alloc((size_t)n, sizeof(*t->page));
	t->span = lmi_alloc(n_seq, sizeof(*t->span));
	if (n && (!t->page || !t->span)) {
		lmi_kv_page_table_fini(t);
		return LMD_NOMEM;
	}
	return LMD_OK;
}

void lmi_kv_page_table_fini(struct lmi_kv_page_table *t)
{
	lmi_kv_page_pool_fini(&t->pool);
	lmi_free(t->page);
	lmi_free(t->span);
	*t = (struct lmi_kv_page_table){0};
}

static uint32_t *entry(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t index)
{
	assert(seq < t->n_seq && index < t->n_index);
	return &t->page[(size_t)seq * t->n_index + index];
}

static uint32_t pages_of(const struct lmi_kv_page_table *t, uint32_t rows)
{
	return rows / t->page_tokens + (rows % t->page_tokens != 0);
}

static void mark_dirty(struct lmi_kv_page_span *s, uint32_t index)
{
	if (s->dirty == s->dirty_end) {
		s->dirty = index;
		s->dirty_end = index + 1;
		return;
	}
	if (index < s->dirty)
		s->dirty = index;
	if (index >= s->dirty_end)
		s->dirty_end = index + 1;
}

/* Will the page of `row` be written while another sequence shares it? */
static bool must_copy(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t row, uint32_t end)
{
	const struct lmi_kv_page_span *s = &t->span[seq];
	uint32_t i = row / t->page_tokens;

	return end > row && i >= s->first && i < s->end &&
	       lmi_kv_page_refs(&t->pool, *entry(t, seq, i)) > 1;
}

/* Would writing `row` overwrite what the prefix tree knows of its page, which no other sequence
 * shares? */
static bool overwrites(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t row, uint32_t end)
{
	const struct lmi_kv_page_span *s = &t->span[seq];
	uint32_t i = row / t->page_tokens, node;

	if (end <= row || i < s->first || i >= s->end || must_copy(t, seq, row, end))
		return false;
	node = lmi_kv_page_node(&t->pool, *entry(t, seq, i));
	return node != LMI_KV_NO_NODE && row % t->page_tokens < t->pool.tree->node[node].n_tok;
}

uint32_t lmi_kv_page_table_need(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t row,
				uint32_t end)
{
	uint32_t want = pages_of(t, end), have = t->span[seq].end;

	return (want > have ? want - have : 0) + must_copy(t, seq, row, end);
}

void lmi_kv_page_table_extend(struct lmi_kv_page_table *t, uint32_t seq, uint32_t row, uint32_t end,
			      uint32_t *src, uint32_t *dst)
{
	struct lmi_kv_page_span *s = &t->span[seq];
	bool copy = must_copy(t, seq, row, end);

	*src = *dst = LMI_KV_NO_PAGE;
	if (overwrites(t, seq, row, end)) {
		copy = t->pool.n_free > lmi_kv_page_table_need(t, seq, row, end);
		if (!copy)
			lmi_kv_page_forget(&t->pool, *entry(t, seq, row / t->page_tokens));
	}
	if (copy) {
		uint32_t *e = entry(t, seq, row / t->page_tokens);

		*src = *e;
		*dst = lmi_kv_page_take(&t->pool);
		assert(*dst != LMI_KV_NO_PAGE);
		lmi_kv_page_release(&t->pool, *e);
		*e = *dst;
		mark_dirty(s, row / t->page_tokens);
	}
	for (; s->end < pages_of(t, end); s->end++) {
		uint32_t page = lmi_kv_page_take(&t->pool);

		assert(page != LMI_KV_NO_PAGE);
		*entry(t, seq, s->end) = page;
		mark_dirty(s, s->end);
	}
}

void lmi_kv_page_table_evict(struct lmi_kv_page_table *t, uint32_t seq, uint32_t row)
{
	struct lmi_kv_page_span *s = &t->span[seq];

	for (; s->first < s->end && s->first < row / t->page_tokens; s->first++)
		lmi_kv_page_release(&t->pool, *entry(t, seq, s->first));
	if (s->dirty < s->first)
		s->dirty = s->first < s->dirty_end ? s->first : s->dirty_end;
}

void lmi_kv_page_table_truncate(struct lmi_kv_page_table *t, uint32_t seq, uint32_t row)
{
	struct lmi_kv_page_span *s = &t->span[seq];

	while (s->end > s->first && s->end > pages_of(t, row))
		lmi_kv_page_release(&t->pool, *entry(t, seq, --s->end));
	if (s->dirty_end > s->end)
		s->dirty_end = s->end > s->dirty ? s->end : s->dirty;
}

void lmi_kv_page_table_put_in_front(struct lmi_kv_page_table *t, uint32_t seq, uint32_t index,
				    uint32_t page)
{
	struct lmi_kv_page_span *s = &t->span[seq];

	assert(s->first == s->end || s->first == index + 1);
	if (s->first == s->end)
		*s = (struct lmi_kv_page_span){.end = index + 1};
	s->first = index;
	lmi_kv_page_ref(&t->pool, page);
	*entry(t, seq, index) = page;
	mark_dirty(s, index);
}

uint32_t lmi_kv_page_table_page(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t index)
{
	const struct lmi_kv_page_span *s = &t->span[seq];

	return index >= s->first && index < s->end ? *entry(t, seq, index) : LMI_KV_NO_PAGE;
}

void lmi_kv_page_table_fork(struct lmi_kv_page_table *t, uint32_t from, uint32_t to, uint32_t row)
{
	const struct lmi_kv_page_span *a = &t->span[from];
	struct lmi_kv_page_span *b = &t->span[to];

	assert(b->first == b->end && pages_of(t, row) <= a->end);
	*b = (struct lmi_kv_page_span){.first = a->first, .end = a->first};
	for (; b->end < pages_of(t, row); b->end++) {
		uint32_t page = *entry(t, from, b->end);

		lmi_kv_page_ref(&t->pool, page);
		*entry(t, to, b->end) = page;
		mark_dirty(b, b->end);
	}
}

void lmi_kv_page_table_clear(struct lmi_kv_page_table *t, uint32_t seq)
{
	struct lmi_kv_page_span *s = &t->span[seq];

	/* last page first, so that the pages of the prefix are reused last */
	while (s->end > s->first)
		lmi_kv_page_release(&t->pool, *entry(t, seq, --s->end));
	*s = (struct lmi_kv_page_span){0};
}

int32_t lmi_kv_page_table_row(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t row)
{
	uint32_t i = row / t->page_tokens;

	assert(i >= t->span[seq].first && i < t->span[seq].end);
	return (int32_t)(*entry(t, seq, i) * t->page_tokens + row % t->page_tokens);
}

uint32_t lmi_kv_page_table_changes(struct lmi_kv_page_table *t, uint32_t seq,
				   struct lmd_page_set *out)
{
	struct lmi_kv_page_span *s = &t->span[seq];
	uint32_t n = 0;

	for (uint32_t i = s->dirty; i < s->dirty_end; i++)
		out[n++] = (struct lmd_page_set){
			.seq_slot = seq, .index = i, .page = *entry(t, seq, i)};
	s->dirty = s->dirty_end = 0;
	return n;
}

const uint32_t *lmi_kv_page_table_take_run(struct lmi_kv_page_table *t, uint32_t seq)
{
	struct lmi_kv_page_span *s = &t->span[seq];
	const uint32_t *pages = s->dirty < s->dirty_end ? entry(t, seq, s->dirty) : NULL;

	s->dirty = s->dirty_end = 0;
	return pages;
}

bool lmi_kv_page_table_check(const struct lmi_kv_page_table *t)
{
	uint64_t refs = 0, named = 0;

	if (!lmi_kv_page_pool_check(&t->pool))
		return false;
	for (uint32_t i = 0; i < t->pool.n_page; i++)
		refs += t->pool.rec[i].refs;
	for (uint32_t s = 0; s < t->n_seq; s++) {
		const struct lmi_kv_page_span *p = &t->span[s];

		if (p->first > p->end || p->end > t->n_index || p->dirty > p->dirty_end ||
		    (p->dirty < p->dirty_end && (p->dirty < p->first || p->dirty_end > p->end)))
			return false;
		for (uint32_t i = p->first; i < p->end; i++)
			if (*entry(t, s, i) >= t->pool.n_page || !t->pool.rec[*entry(t, s, i)].refs)
				return false;
		named += p->end - p->first;
	}
	/* each entry names a page in use, and the number of entries equals that of references */
	return refs == named;
}
