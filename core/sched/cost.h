/* SPDX-License-Identifier: MIT
 *
 * cost.h - how long a step of so many rows takes, learned from the steps that ran.
 *
 * Steps are grouped by their number of rows, by powers of two. Each group remembers a mean in which
 * recent steps weigh most. A measurement also corrects the groups that contradict it: a larger step
 * does not take less time, and takes no more time per row. So an estimate that was too high does not
 * stay, although the steps that would correct it are avoided because of it.
 *
 * Pure arithmetic: no clock. The same measurements give the same estimates. */
#ifndef LLAMAD_CORE_SCHED_COST_H
#define LLAMAD_CORE_SCHED_COST_H

#include <stdint.h>

#define LMI_SCHED_COST_GROUPS 17

/* Zeroed at the start. */
struct lmi_sched_cost {
	struct {
		double rows, ns; /* means; rows 0: nothing was measured */
	} group[LMI_SCHED_COST_GROUPS];
};

void lmi_sched_cost_add(struct lmi_sched_cost *c, uint32_t n_row, uint64_t ns);
/* Returns the estimate in ns; 0 if nothing was measured. */
double lmi_sched_cost_of(const struct lmi_sched_cost *c, uint32_t n_row);
/* Like lmi_sched_cost_of, but returns 0 if no step with between half and twice so many rows was
 * measured. */
double lmi_sched_cost_near(const struct lmi_sched_cost *c, uint32_t n_row);
/* The same, but if none was, the least that steps of other sizes allow, so that it is worth a try; 0 if nothing was
 * measured. */
double lmi_sched_cost_least(const struct lmi_sched_cost *c, uint32_t n_row);
/* Returns the largest number of rows, at most n_max, whose estimate is at most ns; n_max if nothing was
 * measured. */
uint32_t lmi_sched_cost_rows(const struct lmi_sched_cost *c, uint64_t ns, uint32_t n_max);

#endif /* LLAMAD_CORE_SCHED_COST_H */
