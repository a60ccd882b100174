/* SPDX-License-Identifier: MIT
 *
 * Spans: rows that see each other, such as those of a picture, and so are computed in one step. */
#include "core/sched/sched_impl.h"

enum lmd_status lmi_sched_check_spans(const struct lmi_sched_seq *o, uint32_t most,
				      struct lmd_error *err)
{
	for (uint32_t i = 0; i < o->n_span; i++) {
		const struct lmi_sched_span *x = &o->spans[i];
		uint32_t from = i ? o->spans[i - 1].end : 0;

		if (x->first < from || x->end <= x->first || x->end > o->n_known)
			return lmd_fail(err, LMD_INVALID,
					"span %u has the rows [%u, %u), must lie in [%u, %u)", i,
					x->first, x->end, from, o->n_known);
		if (x->end - x->first > most)
			return lmd_fail(err, LMD_INVALID,
					"%u rows that see each other must run in one step, which has room "
					"for %u",
					x->end - x->first, most);
	}
	return LMD_OK;
}

/* Returns the first span that ends after a row; NULL: none. */
static const struct lmi_sched_span *span_after(const struct lmi_sched_rec *r, uint32_t row)
{
	for (uint32_t i = 0; i < r->o.n_span; i++)
		if (r->o.spans[i].end > row)
			return &r->o.spans[i];
	return NULL;
}

uint32_t lmi_sched_uncut(const struct lmi_sched_rec *r, uint32_t n, uint32_t most)
{
	uint32_t first = r->n_planned, end = first + n;
	const struct lmi_sched_span *x = r->o.n_span ? span_after(r, end) : NULL;

	if (x && x->first < end && x->first > first)
		return x->first - first; /* it comes in the next step */
	/* spans before `end` are whole; one that begins here may exceed what others leave */
	if (!x || (x->first >= end && x->first > first))
		return n;
	return x->end - first <= most ? x->end - first : 0;
}

bool lmi_sched_is_in_span(const struct lmi_sched_rec *r)
{
	const struct lmi_sched_span *x = r->o.n_span ? span_after(r, r->n_planned) : NULL;

	return x && x->first <= r->n_planned;
}
