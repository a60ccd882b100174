/* SPDX-License-Identifier: MIT
 *
 * State slots of one group.  The chain of a sequence is cur followed by the slots of its pending
 * steps; equal neighbours in it are one use of the slot.  Invariant: the reference count of a slot is
 * the number of uses in the chains and of marks that name it, over all sequences. */
#include "core/kv/slots.h"

#include <assert.h>

#include "core/base/alloc.h"

static const struct lmi_kv_slot_set empty = {.cur = LMI_KV_NO_PAGE};

enum lmd_status lmi_kv_slots_init(struct lmi_kv_slots *t, uint32_t n_slot, uint32_t n_seq)
{
	enum lmd_status st;

	*t = (struct lmi_kv_slots){.n_seq = n_seq};
	st = lmi_kv_page_pool_init(&t->pool, n_slot);
	if (st != LMD_OK)
		return st;
	t->seq = lmi_alloc(n_seq, sizeof(*t->seq));
	if (!t->seq) {
		lmi_kv_slots_fini(t);
		return LMD_NOMEM;
	}
	for (uint32_t i = 0; i < n_seq; i++)
		t->seq[i] = empty;
	return LMD_OK;
}

void lmi_kv_slots_fini(struct lmi_kv_slots *t)
{
	lmi_kv_page_pool_fini(&t->pool);
	lmi_free(t->seq);
	*t = (struct lmi_kv_slots){0};
}

uint32_t lmi_kv_slots_out(const struct lmi_kv_slots *t, uint32_t seq)
{
	const struct lmi_kv_slot_set *s = &t->seq[seq];

	return s->n_step ? s->next[s->n_step - 1] : s->cur;
}

uint32_t lmi_kv_slots_in(const struct lmi_kv_slots *t, uint32_t seq)
{
	const struct lmi_kv_slot_set *s = &t->seq[seq];

	return s->n_step > 1 ? s->next[s->n_step - 2] : s->cur;
}

/* May the next step write to the slot it reads?  Only if no other sequence shares it. */
static bool in_place(const struct lmi_kv_slots *t, uint32_t seq)
{
	uint32_t slot = lmi_kv_slots_out(t, seq);

	return slot != LMI_KV_NO_PAGE && lmi_kv_page_refs(&t->pool, slot) == 1;
}

/* Does a step that could write to the slot in place leave it to the prefix tree? */
static bool gives_way(const struct lmi_kv_slots *t, uint32_t slot, uint32_t n_mark)
{
	return lmi_kv_page_node(&t->pool, slot) != LMI_KV_NO_NODE && t->pool.n_free > n_mark;
}

uint32_t lmi_kv_slots_need(const struct lmi_kv_slots *t, uint32_t seq, uint32_t n_mark)
{
	return !in_place(t, seq) + n_mark;
}

void lmi_kv_slots_plan(struct lmi_kv_slots *t, uint32_t seq, uint32_t n_mark)
{
	struct lmi_kv_slot_set *s = &t->seq[seq];
	uint32_t slot = lmi_kv_slots_out(t, seq);

	if (in_place(t, seq) && !gives_way(t, slot, n_mark))
		lmi_kv_page_forget(&t->pool, slot);
	else
		slot = lmi_kv_page_take(&t->pool);
	assert(slot != LMI_KV_NO_PAGE && s->n_step < LMI_KV_MAX_STEP &&
	       n_mark <= LMI_KV_MAX_MARK - s->n_mark);
	s->next[s->n_step++] = slot;
	for (uint32_t i = 0; i < n_mark; i++) {
		s->mark[s->n_mark] = lmi_kv_page_take(&t->pool);
		assert(s->mark[s->n_mark] != LMI_KV_NO_PAGE);
		s->n_mark++;
	}
}

static void drop(struct lmi_kv_slots *t, uint32_t slot)
{
	if (slot != LMI_KV_NO_PAGE)
		lmi_kv_page_release(&t->pool, slot);
}

/* Removes the oldest pending step from the chain, without releasing its slot. */
static uint32_t take_oldest(struct lmi_kv_slot_set *s)
{
	uint32_t slot = s->next[0];

	assert(s->n_step);
	s->n_step--;
	for (uint32_t i = 0; i < s->n_step; i++)
		s->next[i] = s->next[i + 1];
	return slot;
}

void lmi_kv_slots_commit(struct lmi_kv_slots *t, uint32_t seq)
{
	struct lmi_kv_slot_set *s = &t->seq[seq];
	uint32_t slot = take_oldest(s);

	if (slot != s->cur)
		drop(t, s->cur);
	s->cur = slot;
}

/* Removes a mark without releasing its slot. */
static uint32_t take_mark(struct lmi_kv_slot_set *s, uint32_t i)
{
	uint32_t slot = s->mark[i];

	assert(i < s->n_mark);
	s->n_mark--;
	for (; i < s->n_mark; i++)
		s->mark[i] = s->mark[i + 1];
	return slot;
}

void lmi_kv_slots_cancel(struct lmi_kv_slots *t, uint32_t seq)
{
	struct lmi_kv_slot_set *s = &t->seq[seq];
	uint32_t slot = take_oldest(s);

	if (slot != s->cur && (!s->n_step || s->next[0] != slot))
		drop(t, slot);
}

void lmi_kv_slots_commit_mark(struct lmi_kv_slots *t, uint32_t seq, uint32_t i)
{
	struct lmi_kv_slot_set *s = &t->seq[seq];

	assert(s->n_step);
	if (s->cur != s->next[0])
		drop(t, s->cur);
	s->cur = take_mark(s, i);
	lmi_kv_slots_cancel(t, seq);
}

void lmi_kv_slots_rewind(struct lmi_kv_slots *t, uint32_t seq, uint32_t i)
{
	struct lmi_kv_slot_set *s = &t->seq[seq];

	assert(!s->n_step);
	drop(t, s->cur);
	s->cur = take_mark(s, i);
}

void lmi_kv_slots_drop_marks(struct lmi_kv_slots *t, uint32_t seq, uint32_t from, uint32_t to)
{
	struct lmi_kv_slot_set *s = &t->seq[seq];

	for (; to > from; to--)
		drop(t, take_mark(s, from));
}

void lmi_kv_slots_fork(struct lmi_kv_slots *t, uint32_t slot, uint32_t to)
{
	assert(t->seq[to].cur == LMI_KV_NO_PAGE);
	if (slot != LMI_KV_NO_PAGE)
		lmi_kv_page_ref(&t->pool, slot);
	t->seq[to].cur = slot;
}

void lmi_kv_slots_clear(struct lmi_kv_slots *t, uint32_t seq)
{
	struct lmi_kv_slot_set *s = &t->seq[seq];

	while (s->n_step)
		lmi_kv_slots_cancel(t, seq);
	lmi_kv_slots_drop_marks(t, seq, 0, s->n_mark);
	drop(t, s->cur);
	s->cur = LMI_KV_NO_PAGE;
}

static bool is_in_use(const struct lmi_kv_slots *t, uint32_t slot)
{
	return slot < t->pool.n_page && t->pool.rec[slot].refs;
}

bool lmi_kv_slots_check(const struct lmi_kv_slots *t)
{
	uint64_t refs = 0, named = 0;

	if (!lmi_kv_page_pool_check(&t->pool))
		return false;
	for (uint32_t i = 0; i < t->pool.n_page; i++)
		refs += t->pool.rec[i].refs;
	for (uint32_t i = 0; i < t->n_seq; i++) {
		const struct lmi_kv_slot_set *s = &t->seq[i];
		uint32_t before = s->cur;

		if (s->n_step > LMI_KV_MAX_STEP || s->n_mark > LMI_KV_MAX_MARK ||
		    (s->cur != LMI_KV_NO_PAGE && !is_in_use(t, s->cur)))
			return false;
		named += (s->cur != LMI_KV_NO_PAGE) + s->n_mark;
		for (uint32_t k = 0; k < s->n_step; k++) {
			if (!is_in_use(t, s->next[k]))
				return false;
			named += s->next[k] != before;
			before = s->next[k];
		}
		for (uint32_t k = 0; k < s->n_mark; k++)
			if (!is_in_use(t, s->mark[k]))
				return false;
	}
	return refs == named;
}
