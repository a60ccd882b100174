/* SPDX-License-Identifier: MIT
 *
 * simulate_fixture.h - percentiles of simulated times. */
#ifndef LLAMAD_CORE_SCHED_SIMULATE_FIXTURE_H
#define LLAMAD_CORE_SCHED_SIMULATE_FIXTURE_H

#include <stdint.h>
#include <stdlib.h>

static inline int sim_by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts n times, n > 0, and returns the 95th percentile. */
static inline uint64_t sim_p95(uint64_t *ns, uint32_t n)
{
	qsort(ns, n, sizeof(*ns), sim_by_size);
	return ns[n * 95 / 100];
}

#endif /* LLAMAD_CORE_SCHED_SIMULATE_FIXTURE_H */
