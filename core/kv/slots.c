/* SPDX-License-Identifier: MIT
 *
 * State slots of one group.  Invariant: the reference count of a slot is the number of members
 * cur, next (if not equal to cur) and mark that name it, over all sequences. */
#include "core/kv/slots.h"

#include <assert.h>

#include "core/base/alloc.h"

static const struct lmi_slot_set empty = {LMI_NO_PAGE, LMI_NO_PAGE, LMI_NO_PAGE};

enum lmd_status lmi_slots_init(struct lmi_slots *t, uint32_t n_slot, uint32_t n_seq)
{
	enum lmd_status st;

	*t = (struct lmi_slots){.n_seq = n_seq};
	st = lmi_page_pool_init(&t->pool, n_slot);
	if (st != LMD_OK)
		return st;
	t->seq = lmi_alloc(n_seq, sizeof(*t->seq));
	if (!t->seq) {
		lmi_slots_fini(t);
		return LMD_NOMEM;
	}
	for (uint32_t i = 0; i < n_seq; i++)
		t->seq[i] = empty;
	return LMD_OK;
}

void lmi_slots_fini(struct lmi_slots *t)
{
	lmi_page_pool_fini(&t->pool);
	lmi_free(t->seq);
	*t = (struct lmi_slots){0};
}

/* May the step write to the slot it reads?  Only if no other sequence shares it. */
static bool in_place(const struct lmi_slots *t, const struct lmi_slot_set *s)
{
	return s->cur != LMI_NO_PAGE && lmi_page_refs(&t->pool, s->cur) == 1;
}

uint32_t lmi_slots_need(const struct lmi_slots *t, uint32_t seq, bool mark)
{
	return !in_place(t, &t->seq[seq]) + mark;
}

void lmi_slots_plan(struct lmi_slots *t, uint32_t seq, bool mark)
{
	struct lmi_slot_set *s = &t->seq[seq];

	assert(s->next == LMI_NO_PAGE && s->mark == LMI_NO_PAGE);
	s->next = in_place(t, s) ? s->cur : lmi_page_take(&t->pool);
	assert(s->next != LMI_NO_PAGE);
	if (mark) {
		s->mark = lmi_page_take(&t->pool);
		assert(s->mark != LMI_NO_PAGE);
	}
}

static void drop(struct lmi_slots *t, uint32_t *slot)
{
	if (*slot != LMI_NO_PAGE)
		lmi_page_give(&t->pool, *slot);
	*slot = LMI_NO_PAGE;
}

void lmi_slots_commit(struct lmi_slots *t, uint32_t seq)
{
	struct lmi_slot_set *s = &t->seq[seq];

	if (s->next == LMI_NO_PAGE)
		return;
	if (s->next != s->cur) {
		drop(t, &s->cur);
		s->cur = s->next;
	}
	s->next = LMI_NO_PAGE;
}

void lmi_slots_settle(struct lmi_slots *t, uint32_t seq)
{
	struct lmi_slot_set *s = &t->seq[seq];

	if (s->next == s->cur)
		s->next = LMI_NO_PAGE;
	drop(t, &s->next);
	drop(t, &s->mark);
}

void lmi_slots_fork(struct lmi_slots *t, uint32_t from, uint32_t to, bool mark)
{
	uint32_t slot = mark ? t->seq[from].mark : t->seq[from].cur;

	assert(t->seq[to].cur == LMI_NO_PAGE);
	if (slot != LMI_NO_PAGE)
		lmi_page_ref(&t->pool, slot);
	t->seq[to].cur = slot;
}

void lmi_slots_clear(struct lmi_slots *t, uint32_t seq)
{
	lmi_slots_settle(t, seq);
	drop(t, &t->seq[seq].cur);
}

bool lmi_slots_check(const struct lmi_slots *t)
{
	uint64_t refs = 0, named = 0;

	if (!lmi_page_pool_check(&t->pool))
		return false;
	for (uint32_t i = 0; i < t->pool.n_page; i++)
		refs += t->pool.rec[i].refs;
	for (uint32_t i = 0; i < t->n_seq; i++) {
		const struct lmi_slot_set *s = &t->seq[i];
		const uint32_t all[] = {s->cur, s->next == s->cur ? LMI_NO_PAGE : s->next, s->mark};

		for (int k = 0; k < 3; k++) {
			if (all[k] == LMI_NO_PAGE)
				continue;
			if (all[k] >= t->pool.n_page || !t->pool.rec[all[k]].refs)
				return false;
			named++;
		}
	}
	return refs == named;
}
