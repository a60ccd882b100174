/* SPDX-License-Identifier: MIT
 *
 * Sequences that start with rows of active ones: because the caller says that they have some in
 * common, or because their tokens are equal. */
#include "core/sched/sched_impl.h"

const struct lmi_sched_rec *lmi_sched_parent_of(const struct lmi_sched *s,
						struct lmi_sched_rec *r)
{
	const struct lmi_sched_rec *p;

	if (!r->parent_arrival)
		return NULL;
	p = &s->rec[r->o.share];
	if (p->state != LMI_SCHED_FREE && p->arrival == r->parent_arrival && !p->removed)
		return p;
	r->parent_arrival = 0;
	return NULL;
}

void lmi_sched_start_shared(struct lmi_sched *s)
{
	for (uint32_t i = s->waiting.head, next; i != LMI_SCHED_NO_SEQ; i = next) {
		struct lmi_sched_rec *r = &s->rec[i];
		const struct lmi_sched_rec *p = lmi_sched_parent_of(s, r);
		uint32_t kv_seq;

		next = r->next;
		if (!p || p->state != LMI_SCHED_ACTIVE || p->n_done < r->o.share_rows ||
		    p->n_void || p->restarts)
			continue;
		r->parent_arrival = 0;
		if (!lmi_kv_can_fork(s->kv, p->kv_seq, r->o.share_rows))
			continue;
		kv_seq = lmi_kv_fork(s->kv, p->kv_seq, r->o.share_rows);
		if (kv_seq == LMI_KV_NO_PAGE)
			continue;
		lmi_sched_activate(s, i, kv_seq);
		r->n_done = r->n_planned = r->o.share_rows;
		r->encoded = p->encoded;
		lmi_sched_count_start(s, r, r->n_done);
	}
}

bool lmi_sched_waits_for_rows(const struct lmi_sched *s, struct lmi_sched_rec *r)
{
	const struct lmi_sched_rec *p = lmi_sched_parent_of(s, r);

	return p && p->state == LMI_SCHED_ACTIVE && p->n_done < r->o.share_rows;
}

/* Returns how many of the first n tokens of two sequences are equal; 0 if they may not share. */
static uint32_t n_common(const struct lmi_sched_rec *a, const struct lmi_sched_rec *b, uint32_t n)
{
	uint32_t i = 0;

	if (!b->o.tokens || b->o.identity.tenant != a->o.identity.tenant ||
	    b->o.identity.adapter != a->o.identity.adapter)
		return 0;
	n = n < b->o.n_known ? n : b->o.n_known;
	if (a->o.n_own && a->o.n_own < n)
		n = a->o.n_own;
	if (b->o.n_own && b->o.n_own < n)
		n = b->o.n_own;
	while (i < n && a->o.tokens[i] == b->o.tokens[i])
		i++;
	return i;
}

/* Returns up to which of the first n rows of `p` another sequence can start when they are computed; 0
 * if it cannot. */
static uint32_t fork_point(const struct lmi_sched *s, const struct lmi_sched_rec *p, uint32_t n)
{
	uint32_t page = lmi_kv_page_tokens(s->kv);

	if (p->n_done >= n)
		return lmi_kv_can_fork(s->kv, p->kv_seq, n) ? n : 0;
	if (p->n_planned < n || lmi_kv_n_spare_states(s->kv) == UINT32_MAX)
		return n;
	/* the state after exactly n rows is not kept, but perhaps that at the end of a page */
	n = n / page * page;
	return n && lmi_kv_has_mark(s->kv, p->kv_seq, n) ? n : 0;
}

bool lmi_sched_follow(struct lmi_sched *s, struct lmi_sched_rec *r, uint32_t found, uint32_t most)
{
	uint32_t best = found;

	for (uint32_t i = s->active.head; i != LMI_SCHED_NO_SEQ && most > best; i = s->rec[i].next) {
		const struct lmi_sched_rec *p = &s->rec[i];
		uint32_t n;

		if (p->removed || p->restarts || p->n_void)
			continue;
		n = n_common(r, p, most);
		n = n > best ? fork_point(s, p, n) : 0;
		if (n <= best)
			continue;
		best = n;
		r->o.share = i;
		r->o.share_rows = n;
		r->parent_arrival = p->arrival;
	}
	return best > found;
}
