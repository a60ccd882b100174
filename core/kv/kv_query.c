/* SPDX-License-Identifier: MIT
 *
 * What step blocks need to know about the KV memory; statistics and checks. */
#include "core/kv/kv_impl.h"

struct lmi_kv_span lmi_kv_interval(const struct lmi_kv *kv, uint32_t g, uint32_t row, uint32_t n)
{
	return lmi_kv_span(&kv->group[g].desc, row, n);
}

int32_t lmi_kv_row(const struct lmi_kv *kv, uint32_t g, uint32_t seq, uint32_t pos)
{
	const struct lmi_kv_group *p = &kv->group[g];
	uint32_t r = lmi_kv_is_paged(&p->desc) ? lmi_kv_ratio_of(&p->desc) : 1;

	if ((pos + 1) % r)
		return -1;
	return lmi_kv_page_table_row(&p->pages, seq, pos / r);
}

static int32_t slot_number(uint32_t slot)
{
	return slot == LMI_KV_NO_PAGE ? -1 : (int32_t)slot;
}

int32_t lmi_kv_state_in(const struct lmi_kv *kv, uint32_t g, uint32_t seq)
{
	return slot_number(lmi_kv_slots_in(&kv->group[g].slots, seq));
}

int32_t lmi_kv_state_out(const struct lmi_kv *kv, uint32_t g, uint32_t seq)
{
	return slot_number(lmi_kv_slots_out(&kv->group[g].slots, seq));
}

int32_t lmi_kv_state_mark(const struct lmi_kv *kv, uint32_t g, uint32_t seq, uint32_t i)
{
	const struct lmi_kv_seq *s = lmi_kv_seq_of(kv, seq);
	uint32_t n = s->n_step ? s->marks[s->n_step - 1] : 0;

	return i < n ? slot_number(kv->group[g].slots.seq[seq].mark[s->n_mark - n + i]) : -1;
}

uint32_t lmi_kv_changes(struct lmi_kv *kv, uint32_t g, uint32_t seq, struct lmd_page_set *out,
			uint32_t cap)
{
	struct lmi_kv_page_table *t = &kv->group[g].pages;

	assert(t->span[seq].dirty_end - t->span[seq].dirty <= cap);
	(void)cap;
	return lmi_kv_page_table_changes(t, seq, out);
}

uint32_t lmi_kv_n_changes(const struct lmi_kv *kv, uint32_t g, uint32_t seq)
{
	const struct lmi_kv_page_span *s = &kv->group[g].pages.span[seq];

	return s->dirty_end - s->dirty;
}

struct lmi_kv_run lmi_kv_take_run(struct lmi_kv *kv, uint32_t g, uint32_t seq)
{
	struct lmi_kv_page_table *t = &kv->group[g].pages;
	struct lmi_kv_run r = {.index = t->span[seq].dirty, .n = lmi_kv_n_changes(kv, g, seq)};

	r.pages = lmi_kv_page_table_take_run(t, seq);
	return r;
}

uint32_t lmi_kv_usual_changes(const struct lmi_kv *kv, uint32_t n_row)
{
	uint64_t most = lmi_kv_max_changes(kv), n = 0;

	/* for each sequence: the pages that its rows fill, one that they begin, one that is copied
	 * before it is written */
	for (uint32_t i = 0; i < kv->n_group; i++) {
		uint32_t page = kv->group[i].pages.page_tokens;

		if (page && n_row / page + 2ull * kv->n_seq > n)
			n = n_row / page + 2ull * kv->n_seq;
	}
	return (uint32_t)(n < most ? n : most);
}

uint32_t lmi_kv_max_changes(const struct lmi_kv *kv)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < kv->n_group; i++)
		if (kv->group[i].pages.n_index > most)
			most = kv->group[i].pages.n_index;
	return most * kv->n_seq;
}

uint32_t lmi_kv_copies(struct lmi_kv *kv, const struct lmi_kv_copy **out)
{
	uint32_t n = kv->n_copy;

	*out = kv->copy;
	kv->n_copy = 0;
	return n;
}

void lmi_kv_stats(const struct lmi_kv *kv, struct lmi_kv_stats *out)
{
	*out = (struct lmi_kv_stats){.n_seq = kv->n_seq,
				     .n_seq_free = kv->n_free_seq,
				     .n_pinned = kv->tree.n_pinned};
	for (uint32_t i = 0; i < kv->n_group; i++) {
		const struct lmi_kv_group *g = &kv->group[i];
		const struct lmi_kv_page_pool *p = g->slots.seq ? &g->slots.pool : &g->pages.pool;

		out->n_page[i] = p->n_page;
		out->n_free[i] = p->n_free;
		out->n_cached[i] = p->n_cached;
		out->n_evicted += p->n_evicted;
	}
}

/* Are all rows present that the next row of sequence i sees? */
static bool check_seq(const struct lmi_kv *kv, uint32_t i)
{
	const struct lmi_kv_seq *s = &kv->seq[i];

	for (uint32_t k = 0; k < kv->n_group; k++) {
		const struct lmi_kv_group *g = &kv->group[k];

		if (lmi_kv_is_paged(&g->desc)) {
			struct lmi_kv_span v = lmi_kv_span(&g->desc, s->len, (int64_t)s->len + 1);
			const struct lmi_kv_page_span *p = &g->pages.span[i];

			if (!s->open && p->first != p->end)
				return false;
			uint32_t n_row = s->open ? lmi_kv_rows_of(&g->desc, lmi_kv_end_of(s)) : 0;

			if (s->open && ((uint32_t)v.lo < p->first * kv->page_tokens ||
					n_row > p->end * kv->page_tokens))
				return false;
		} else if (g->desc.kind == LMD_GROUP_STATE) {
			const struct lmi_kv_slot_set *t = &g->slots.seq[i];

			if ((s->open && s->len) != (t->cur != LMI_KV_NO_PAGE) ||
			    (s->open && (s->n_step != t->n_step || s->n_mark != t->n_mark)))
				return false;
		}
	}
	return true;
}

bool lmi_kv_check(const struct lmi_kv *kv)
{
	uint32_t n_open = 0, n_named = 0;

	for (uint32_t i = 0; i < kv->n_seq; i++) {
		n_open += kv->seq[i].open;
		n_named += kv->seq[i].open && kv->seq[i].node != LMI_KV_NO_NODE;
		if (!check_seq(kv, i))
			return false;
	}
	for (uint32_t i = 0; i < kv->n_group; i++) {
		const struct lmi_kv_group *g = &kv->group[i];

		if ((g->pages.span && !lmi_kv_page_table_check(&g->pages)) ||
		    (g->slots.seq && !lmi_kv_slots_check(&g->slots)))
			return false;
	}
	return n_open + kv->n_free_seq == kv->n_seq &&
	       lmi_kv_prefix_tree_check(&kv->tree, n_named);
}
