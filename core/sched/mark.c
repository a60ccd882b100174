/* SPDX-License-Identifier: MIT
 *
 * Rows of a part after which the states of a sequence are kept, since something may start or go on
 * from there. */
#include "core/sched/sched_impl.h"

/* Inserts a mark after n rows, in order; returns false if there is no room. */
static bool add_mark(struct lmi_sched_part *p, uint32_t n)
{
	uint32_t i = p->n_mark;

	while (i && p->mark[i - 1] > n)
		i--;
	if (i && p->mark[i - 1] == n)
		return true;
	if (p->n_mark == LMI_KV_MAX_MARK)
		return false;
	for (uint32_t k = p->n_mark++; k > i; k--)
		p->mark[k] = p->mark[k - 1];
	p->mark[i] = n;
	return true;
}

/* Marks the rows of a part after which a waiting sequence wants to start. */
static void mark_forks(struct lmi_sched *s, const struct lmi_sched_rec *p,
		       struct lmi_sched_part *part)
{
	for (uint32_t i = s->waiting.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct lmi_sched_rec *r = &s->rec[i];

		if (r->parent_arrival && lmi_sched_parent_of(s, r) == p &&
		    r->o.share_rows > part->first && r->o.share_rows < part->first + part->n &&
		    !add_mark(part, r->o.share_rows - part->first))
			return;
	}
}

/* Marks the rows of a part after which drafts can be rejected. */
static void mark_drafts(const struct lmi_sched_rec *r, struct lmi_sched_part *p)
{
	if (r->draft_from == LMI_SCHED_NO_DRAFT)
		return;
	for (uint32_t n = 1; n < p->n; n++)
		if (p->first + n >= r->draft_from)
			(void)add_mark(p, n); /* there are no more drafts than marks */
}

/* Marks the rows of a part of a prompt after which later sequences may want to start: the end of the
 * last whole page, and places far apart as long as there are states to spare. */
static void mark_states(struct lmi_sched *s, const struct lmi_sched_rec *r,
			struct lmi_sched_part *p)
{
	uint32_t spare = lmi_kv_n_spare_states(s->kv), page = lmi_kv_page_tokens(s->kv);
	uint32_t end = p->first + p->n, last = (r->o.n_known - 1) / page * page;

	if (!r->o.tokens || spare == UINT32_MAX || p->n < 2)
		return;
	if (last > p->first && last < end)
		(void)add_mark(p, last - p->first);
	for (uint32_t at = p->first / LMI_KV_STATE_TOKENS + 1;
	     at * LMI_KV_STATE_TOKENS < end && spare > 2; at++, spare--)
		(void)add_mark(p, at * LMI_KV_STATE_TOKENS - p->first);
}

void lmi_sched_mark(struct lmi_sched *s, const struct lmi_sched_rec *r, struct lmi_sched_part *p,
		    bool all)
{
	p->n_mark = 0;
	mark_drafts(r, p);
	if (!all)
		return;
	mark_forks(s, r, p);
	mark_states(s, r, p);
}

bool lmi_sched_must_fork_first(struct lmi_sched *s, const struct lmi_sched_rec *p)
{
	for (uint32_t i = s->waiting.head; i != LMI_SCHED_NO_SEQ; i = s->rec[i].next) {
		struct lmi_sched_rec *r = &s->rec[i];

		if (r->parent_arrival && lmi_sched_parent_of(s, r) == p &&
		    r->o.share_rows == p->n_planned)
			return true;
	}
	return false;
}
