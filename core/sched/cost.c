/* SPDX-License-Identifier: MIT
 *
 * Estimates of the time of a step; see cost.h. */
#include "core/sched/cost.h"

/* Weight of a new measurement. */
#define NEW 0.25

static uint32_t group_of(uint32_t n_row)
{
	uint32_t g = 0;

	while (g + 1 < LMI_SCHED_COST_GROUPS && n_row >> (g + 1))
		g++;
	return g;
}

/* Moves the other groups to what the measured one allows. */
static void correct(struct lmi_sched_cost *c, uint32_t measured)
{
	double rows = c->group[measured].rows, ns = c->group[measured].ns;

	for (uint32_t g = 0; g < LMI_SCHED_COST_GROUPS; g++) {
		double r = c->group[g].rows, least, most;

		if (r <= 0)
			continue;
		least = g > measured ? ns : ns * r / rows;
		most = g > measured ? ns * r / rows : ns;
		if (least > most) /* the groups' means are out of order */
			continue;
		if (c->group[g].ns < least)
			c->group[g].ns = least;
		if (c->group[g].ns > most)
			c->group[g].ns = most;
	}
}

void lmi_sched_cost_add(struct lmi_sched_cost *c, uint32_t n_row, uint64_t ns)
{
	uint32_t g = group_of(n_row);

	if (!n_row)
		return;
	if (c->group[g].rows <= 0) {
		c->group[g].rows = n_row;
		c->group[g].ns = (double)ns;
	} else {
		c->group[g].rows += (n_row - c->group[g].rows) * NEW;
		c->group[g].ns += ((double)ns - c->group[g].ns) * NEW;
	}
	correct(c, g);
}

/* Finds the nearest measured groups with at most and with more than so many rows. */
static void neighbours(const struct lmi_sched_cost *c, double n_row, int *below, int *above)
{
	*below = *above = -1;
	for (int g = 0; g < LMI_SCHED_COST_GROUPS; g++) {
		if (c->group[g].rows <= 0)
			continue;
		if (c->group[g].rows <= n_row)
			*below = g;
		else if (*above < 0)
			*above = g;
	}
}

double lmi_sched_cost_of(const struct lmi_sched_cost *c, uint32_t n_row)
{
	int b, a;

	neighbours(c, n_row, &b, &a);
	if (b < 0 && a < 0)
		return 0;
	if (b < 0) /* fewer rows than were ever measured: no time is known to be saved */
		return c->group[a].ns;
	if (a < 0)
		return c->group[b].ns * n_row / c->group[b].rows;
	return c->group[b].ns + (c->group[a].ns - c->group[b].ns) * (n_row - c->group[b].rows) /
					(c->group[a].rows - c->group[b].rows);
}

double lmi_sched_cost_near(const struct lmi_sched_cost *c, uint32_t n_row)
{
	return c->group[group_of(n_row)].rows > 0 ? lmi_sched_cost_of(c, n_row) : 0;
}

double lmi_sched_cost_least(const struct lmi_sched_cost *c, uint32_t n_row)
{
	int b, a;

	neighbours(c, n_row, &b, &a);
	return c->group[group_of(n_row)].rows > 0 || b < 0 ? lmi_sched_cost_of(c, n_row)
							   : c->group[b].ns;
}

uint32_t lmi_sched_cost_rows(const struct lmi_sched_cost *c, uint64_t ns, uint32_t n_max)
{
	uint32_t lo = 0, hi = n_max;

	/* the estimates do not fall with the number of rows */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		if (lmi_sched_cost_of(c, mid) <= (double)ns)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}
