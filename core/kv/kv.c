/* SPDX-License-Identifier: MIT
 *
 * KV memory over all groups of a model.  Each group is a page table (PAGED, CROSS) or a set of
 * state slots (STATE); BATCH groups have no memory.  A reservation checks every group before it
 * takes anything, so that a failed one changes nothing. */
#include "core/base/alloc.h"
#include "core/kv/kv_impl.h"

static uint32_t div_up(uint32_t a, uint32_t b)
{
	return a / b + (a % b != 0);
}

uint32_t lmi_kv_pages_for(const struct lmd_group *g, uint32_t page_tokens, uint32_t n,
			  uint32_t n_step)
{
	uint32_t rows = lmi_kv_rows_of(g, n), all = div_up(rows, page_tokens);
	uint32_t reach = g->window ? g->window : g->chunk / lmi_kv_ratio_of(g);
	uint64_t most;

	if (!g->causal || !reach)
		return all;
	/* the rows of a step, those that its first row sees, and a partial page at either end */
	most = ((uint64_t)reach + lmi_kv_rows_of(g, n_step) + page_tokens - 1) / page_tokens + 1;
	return most < all ? (uint32_t)most : all;
}

uint32_t lmi_kv_n_logical_pages(const struct lmd_group *g, uint32_t page_tokens, uint32_t n_ctx,
				uint32_t n_cross)
{
	return div_up(g->kind == LMD_GROUP_CROSS ? n_cross : lmi_kv_rows_of(g, n_ctx), page_tokens);
}

static enum lmd_status init_group(struct lmi_kv *kv, uint32_t i, const struct lmi_kv_opts *o)
{
	struct lmi_kv_group *g = &kv->group[i];

	g->desc = o->groups[i];
	switch ((enum lmd_group_kind)g->desc.kind) {
	case LMD_GROUP_PAGED:
	case LMD_GROUP_CROSS:
		return lmi_kv_page_table_init(
			&g->pages, o->n_page[i], o->page_tokens, o->n_seq,
			lmi_kv_n_logical_pages(&g->desc, o->page_tokens, o->n_ctx, o->n_cross));
	case LMD_GROUP_STATE:
		return lmi_kv_slots_init(&g->slots, o->n_slot[i], o->n_seq);
	case LMD_GROUP_BATCH:
		return LMD_OK;
	}
	return LMD_INVALID;
}

enum lmd_status lmi_kv_create(struct lmi_kv **out, const struct lmi_kv_opts *o,
			      struct lmd_error *err)
{
	struct lmi_kv *kv;
	enum lmd_status st = LMD_OK;
	uint32_t i;

	if (o->n_group > LMD_MAX_GROUP || !o->n_seq || o->n_seq > 65536 || !o->n_ctx ||
	    o->n_ctx > INT32_MAX)
		return lmd_fail(err, LMD_INVALID,
				"kv: %u groups (maximum %d), %u sequences (1 to 65536), "
				"context of %u tokens (1 to 2^31-1)",
				o->n_group, LMD_MAX_GROUP, o->n_seq, o->n_ctx);
	kv = lmi_alloc(1, sizeof(*kv));
	if (!kv)
		return lmd_fail(err, LMD_NOMEM, "kv: out of memory");
	kv->n_group = o->n_group;
	kv->n_seq = kv->n_free_seq = o->n_seq;
	kv->n_ctx = o->n_ctx;
	kv->n_cross = o->n_cross;
	kv->page_tokens = o->page_tokens;
	kv->seq = lmi_alloc(o->n_seq, sizeof(*kv->seq));
	kv->copy = lmi_alloc((size_t)o->n_seq * (o->n_group + 1), sizeof(*kv->copy));
	if (!kv->seq || !kv->copy)
		st = LMD_NOMEM;
	for (i = 0; i < o->n_group && st == LMD_OK; i++)
		st = init_group(kv, i, o);
	if (st == LMD_OK)
		st = lmi_kv_prefix_init(kv, o);
	if (st != LMD_OK) {
		lmi_kv_destroy(kv);
		return lmd_fail(err, st,
				"kv: cannot create page tables for %u sequences of %u tokens",
				o->n_seq, o->n_ctx);
	}
	*out = kv;
	return LMD_OK;
}

void lmi_kv_destroy(struct lmi_kv *kv)
{
	if (!kv)
		return;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		lmi_kv_page_table_fini(&kv->group[i].pages);
		lmi_kv_slots_fini(&kv->group[i].slots);
	}
	lmi_kv_prefix_tree_fini(&kv->tree);
	lmi_free(kv->seq);
	lmi_free(kv->copy);
	lmi_free(kv);
}

uint32_t lmi_kv_open(struct lmi_kv *kv)
{
	for (uint32_t i = 0; kv->n_free_seq && i < kv->n_seq; i++) {
		if (kv->seq[i].open)
			continue;
		kv->seq[i] = (struct lmi_kv_seq){.open = true, .node = LMI_KV_NO_NODE};
		kv->n_free_seq--;
		return i;
	}
	return LMI_KV_NO_PAGE;
}

/* Drops pending copies whose destination page is no longer in use. */
static void forget_copies(struct lmi_kv *kv)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < kv->n_copy; i++) {
		const struct lmi_kv_copy *c = &kv->copy[i];

		if (lmi_kv_page_refs(&kv->group[c->group].pages.pool, c->dst))
			kv->copy[n++] = *c;
	}
	kv->n_copy = n;
}

void lmi_kv_close(struct lmi_kv *kv, uint32_t seq)
{
	lmi_kv_prefix_leave(kv, seq);
	lmi_kv_seq_of(kv, seq)->open = false;
	kv->n_free_seq++;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		struct lmi_kv_group *g = &kv->group[i];

		if (g->pages.span)
			lmi_kv_page_table_clear(&g->pages, seq);
		if (g->slots.seq)
			lmi_kv_slots_clear(&g->slots, seq);
	}
	forget_copies(kv);
}

uint32_t lmi_kv_page_tokens(const struct lmi_kv *kv)
{
	return kv->page_tokens;
}

uint32_t lmi_kv_len(const struct lmi_kv *kv, uint32_t seq)
{
	return lmi_kv_seq_of(kv, seq)->len;
}

uint32_t lmi_kv_n_free_seq(const struct lmi_kv *kv)
{
	return kv->n_free_seq;
}

static bool fits(const struct lmi_kv *kv, uint32_t n, uint32_t n_step, bool alone)
{
	if (n > kv->n_ctx)
		return false;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		const struct lmi_kv_group *g = &kv->group[i];
		const struct lmi_kv_page_pool *p = g->slots.seq ? &g->slots.pool : &g->pages.pool;
		uint32_t need = 0;

		if (lmi_kv_is_paged(&g->desc))
			need = lmi_kv_pages_for(&g->desc, kv->page_tokens, n, n_step);
		else if (g->desc.kind == LMD_GROUP_STATE)
			need = 1;
		else if (g->desc.kind == LMD_GROUP_CROSS)
			need = alone ? div_up(kv->n_cross, kv->page_tokens) : 0;
		if (need > (alone ? p->n_page : p->n_free))
			return false;
	}
	return true;
}

bool lmi_kv_fits(const struct lmi_kv *kv, uint32_t n, uint32_t n_step)
{
	return fits(kv, n, n_step, false);
}

bool lmi_kv_fits_alone(const struct lmi_kv *kv, uint32_t n, uint32_t n_step)
{
	return fits(kv, n, n_step, true);
}

static bool group_has_room(const struct lmi_kv_group *g, uint32_t seq, uint32_t end, uint32_t n,
			   uint32_t n_mark)
{
	if (lmi_kv_is_paged(&g->desc))
		return lmi_kv_page_table_need(&g->pages, seq, lmi_kv_rows_of(&g->desc, end),
					      lmi_kv_rows_of(&g->desc, end + n)) <=
		       g->pages.pool.n_free;
	if (g->desc.kind == LMD_GROUP_STATE)
		return lmi_kv_slots_need(&g->slots, seq, n_mark) <= g->slots.pool.n_free;
	return true;
}

/* Records a pending step that begins after `end` tokens. */
static void add_step(struct lmi_kv_seq *s, uint32_t end, uint32_t n, const uint32_t *marks,
		     uint32_t n_mark)
{
	for (uint32_t i = 0; i < n_mark; i++) {
		assert(marks[i] && marks[i] < n && (!i || marks[i] > marks[i - 1]));
		s->mark[s->n_mark++] = end + marks[i];
	}
	s->reserved[s->n_step] = n;
	s->marks[s->n_step++] = n_mark;
}

bool lmi_kv_reserve(struct lmi_kv *kv, uint32_t seq, uint32_t n, const uint32_t *marks,
		    uint32_t n_mark)
{
	struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);
	uint32_t end = lmi_kv_end_of(s);

	assert(!s->is_void && n);
	if (n > kv->n_ctx - end || s->n_step == LMI_KV_MAX_STEP ||
	    n_mark > LMI_KV_MAX_MARK - s->n_mark)
		return false;
	for (uint32_t i = 0; i < kv->n_group; i++)
		if (!group_has_room(&kv->group[i], seq, end, n, n_mark))
			return false;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		struct lmi_kv_group *g = &kv->group[i];

		if (lmi_kv_is_paged(&g->desc)) {
			struct lmi_kv_copy c = {.group = i};

			lmi_kv_page_table_extend(&g->pages, seq, lmi_kv_rows_of(&g->desc, end),
						 lmi_kv_rows_of(&g->desc, end + n), &c.src, &c.dst);
			if (c.dst != LMI_KV_NO_PAGE)
				kv->copy[kv->n_copy++] = c;
		} else if (g->desc.kind == LMD_GROUP_STATE) {
			lmi_kv_slots_plan(&g->slots, seq, n_mark);
		}
	}
	add_step(s, end, n, marks, n_mark);
	return true;
}

bool lmi_kv_reserve_cross(struct lmi_kv *kv, uint32_t seq, uint32_t n)
{
	struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);
	uint32_t src, dst;

	assert(!s->cross);
	if (n > kv->n_cross)
		return false;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		const struct lmi_kv_group *g = &kv->group[i];

		if (g->desc.kind == LMD_GROUP_CROSS &&
		    lmi_kv_page_table_need(&g->pages, seq, 0, n) > g->pages.pool.n_free)
			return false;
	}
	for (uint32_t i = 0; i < kv->n_group; i++)
		if (kv->group[i].desc.kind == LMD_GROUP_CROSS)
			lmi_kv_page_table_extend(&kv->group[i].pages, seq, 0, n, &src, &dst);
	s->cross = n;
	return true;
}

uint32_t lmi_kv_cross(const struct lmi_kv *kv, uint32_t seq)
{
	return lmi_kv_seq_of(kv, seq)->cross;
}

uint32_t lmi_kv_n_pending(const struct lmi_kv *kv, uint32_t seq)
{
	return lmi_kv_seq_of(kv, seq)->n_step;
}

bool lmi_kv_is_void(const struct lmi_kv *kv, uint32_t seq)
{
	return lmi_kv_seq_of(kv, seq)->is_void;
}

static void drop_marks(struct lmi_kv *kv, uint32_t seq, uint32_t from, uint32_t to)
{
	struct lmi_kv_seq *s = &kv->seq[seq];
	uint32_t n = s->n_mark - to;

	for (uint32_t i = 0; i < kv->n_group; i++)
		if (kv->group[i].slots.seq)
			lmi_kv_slots_drop_marks(&kv->group[i].slots, seq, from, to);
	for (uint32_t i = 0; i < n; i++)
		s->mark[from + i] = s->mark[to + i];
	s->n_mark = from + n;
}

/* Returns the number of marks up to this position. */
static uint32_t marks_up_to(const struct lmi_kv_seq *s, uint32_t at)
{
	uint32_t n = 0;

	while (n < s->n_mark && s->mark[n] <= at)
		n++;
	return n;
}

uint32_t lmi_kv_mark_at(const struct lmi_kv_seq *s, uint32_t at)
{
	uint32_t n = marks_up_to(s, at);

	return n && s->mark[n - 1] == at ? n - 1 : s->n_mark;
}

/* Removes one position from the list; its slots have another use now. */
static void forget_mark(struct lmi_kv_seq *s, uint32_t mark)
{
	s->n_mark--;
	for (uint32_t i = mark; i < s->n_mark; i++)
		s->mark[i] = s->mark[i + 1];
}

/* Frees pages that hold only tokens from `len` on. */
static void drop_rejected(struct lmi_kv *kv, uint32_t seq)
{
	for (uint32_t i = 0; i < kv->n_group; i++) {
		struct lmi_kv_group *g = &kv->group[i];

		if (lmi_kv_is_paged(&g->desc))
			lmi_kv_page_table_truncate(&g->pages, seq,
						   lmi_kv_rows_of(&g->desc, kv->seq[seq].len));
	}
	forget_copies(kv);
}

/* Ends the oldest step in the STATE groups. */
static void commit_states(struct lmi_kv *kv, uint32_t seq, uint32_t n, bool all)
{
	struct lmi_kv_seq *s = &kv->seq[seq];
	uint32_t mark = lmi_kv_mark_at(s, s->len + n);
	bool at_mark = n && !all, any = false;

	for (uint32_t i = 0; i < kv->n_group; i++) {
		struct lmi_kv_slots *t = &kv->group[i].slots;

		if (!t->seq)
			continue;
		any = true;
		assert(!at_mark || mark < s->n_mark);
		if (all)
			lmi_kv_slots_commit(t, seq);
		else if (at_mark)
			lmi_kv_slots_commit_mark(t, seq, mark);
		else
			lmi_kv_slots_cancel(t, seq);
	}
	if (any && at_mark)
		forget_mark(s, mark);
}

void lmi_kv_commit(struct lmi_kv *kv, uint32_t seq, uint32_t n)
{
	struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);
	bool all;

	assert(s->n_step && n <= s->reserved[0] && (!n || !s->is_void));
	all = n == s->reserved[0];
	commit_states(kv, seq, n, all);
	s->len += n;
	s->n_step--;
	for (uint32_t i = 0; i < s->n_step; i++) {
		s->reserved[i] = s->reserved[i + 1];
		s->marks[i] = s->marks[i + 1];
	}
	if (all)
		return;
	s->is_void = s->n_step;
	drop_marks(kv, seq, marks_up_to(s, s->len), s->n_mark);
	if (!s->n_step)
		drop_rejected(kv, seq);
}

bool lmi_kv_can_fork(const struct lmi_kv *kv, uint32_t from, uint32_t at)
{
	const struct lmi_kv_seq *s = lmi_kv_seq_of(kv, from);

	if (at > s->len || !at)
		return false;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		const struct lmi_kv_group *g = &kv->group[i];

		if (lmi_kv_is_paged(&g->desc)) {
			struct lmi_kv_span v = lmi_kv_span(&g->desc, at, (int64_t)at + 1);
			uint32_t first = g->pages.span[from].first * kv->page_tokens;

			if ((uint32_t)v.lo < first)
				return false;
		} else if (g->desc.kind == LMD_GROUP_STATE && lmi_kv_mark_at(s, at) == s->n_mark &&
			   (at != s->len || s->n_step)) {
			return false;
		}
	}
	return true;
}

uint32_t lmi_kv_fork(struct lmi_kv *kv, uint32_t from, uint32_t at)
{
	const struct lmi_kv_seq *s = lmi_kv_seq_of(kv, from);
	uint32_t to = lmi_kv_open(kv), mark = lmi_kv_mark_at(s, at);

	if (to == LMI_KV_NO_PAGE)
		return to;
	assert(lmi_kv_can_fork(kv, from, at));
	for (uint32_t i = 0; i < kv->n_group; i++) {
		struct lmi_kv_group *g = &kv->group[i];

		if (lmi_kv_is_paged(&g->desc))
			lmi_kv_page_table_fork(&g->pages, from, to, lmi_kv_rows_of(&g->desc, at));
		else if (g->desc.kind == LMD_GROUP_CROSS)
			lmi_kv_page_table_fork(&g->pages, from, to, s->cross);
		else if (g->desc.kind == LMD_GROUP_STATE)
			lmi_kv_slots_fork(&g->slots,
					  mark < s->n_mark ? g->slots.seq[from].mark[mark]
							   : g->slots.seq[from].cur,
					  to);
	}
	kv->seq[to].len = at;
	kv->seq[to].cross = s->cross;
	lmi_kv_prefix_fork(kv, from, to, at);
	return to;
}

bool lmi_kv_truncate(struct lmi_kv *kv, uint32_t seq, uint32_t at)
{
	struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);
	uint32_t mark = lmi_kv_mark_at(s, at);
	bool any = false;

	assert(!s->n_step);
	if (!lmi_kv_can_fork(kv, seq, at))
		return false;
	if (at == s->len)
		return true;
	for (uint32_t i = 0; i < kv->n_group; i++) {
		if (!kv->group[i].slots.seq)
			continue;
		lmi_kv_slots_rewind(&kv->group[i].slots, seq, mark);
		any = true;
	}
	if (any)
		forget_mark(s, mark);
	s->len = at;
	lmi_kv_prefix_truncate(kv, seq, at);
	drop_marks(kv, seq, marks_up_to(s, at), s->n_mark);
	drop_rejected(kv, seq);
	return true;
}

void lmi_kv_trim(struct lmi_kv *kv, uint32_t seq)
{
	struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);

	drop_marks(kv, seq, 0, marks_up_to(s, s->len));
	for (uint32_t i = 0; i < kv->n_group; i++) {
		struct lmi_kv_group *g = &kv->group[i];

		if (lmi_kv_is_paged(&g->desc) && g->desc.causal)
			lmi_kv_page_table_evict(
				&g->pages, seq,
				(uint32_t)lmi_kv_span(&g->desc, s->len, (int64_t)s->len + 1).lo);
	}
}
