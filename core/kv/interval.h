/* SPDX-License-Identifier: MIT
 *
 * interval.h - the keys that a row attends to: causal, windowed, chunked and full attention
 * all reduce to one interval [lo, hi) of the rows of a group. */
#ifndef LLAMAD_CORE_KV_INTERVAL_H
#define LLAMAD_CORE_KV_INTERVAL_H

#include <stdint.h>

#include "llamad/plan.h"

struct lmi_interval {
	int32_t lo, hi;
};

/* Interval seen by row p (>= 0) of a sequence that will have n rows after the step.  For BATCH
 * groups both count from the sequence's first row in the step.  In a group with ratio r each
 * row is a block of r tokens. */
static inline struct lmi_interval lmi_interval(const struct lmd_group *g, int64_t p, int64_t n)
{
	int64_t r = g->ratio > 1 ? g->ratio : 1;
	int64_t lo = 0, hi = (g->causal ? p + 1 : n) / r;

	if (g->window && g->causal && hi > g->window)
		lo = hi - g->window;
	if (g->window && !g->causal) {
		int64_t half = g->window / 2;

		lo = p > half ? (p - half + r - 1) / r : 0;
		hi = p + half < n ? (p + half + 1) / r : hi;
	}
	if (g->chunk && lo < p / g->chunk * g->chunk / r)
		lo = p / g->chunk * g->chunk / r;
	return (struct lmi_interval){(int32_t)lo, (int32_t)hi};
}

#endif /* LLAMAD_CORE_KV_INTERVAL_H */
