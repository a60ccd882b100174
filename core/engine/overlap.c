/* SPDX-License-Identifier: MIT
 *
 * Estimates the costs of steps by exponentially weighted least squares. */
#include "core/engine/overlap.h"

/* Weight of a step relative to the next one: about the last 50 steps count. */
#define DECAY 0.98
/* Number of steps (weighted) before anything is decided. */
#define ENOUGH 8.0
/* Two halves must gain at least this factor, so that noise does not decide. */
#define MARGIN 1.25

void lmi_engine_overlap_add_device(struct lmi_engine_overlap *o, uint32_t n_row, uint64_t ns)
{
	double x = n_row, y = (double)ns;

	o->n = o->n * DECAY + 1;
	o->x = o->x * DECAY + x;
	o->y = o->y * DECAY + y;
	o->xx = o->xx * DECAY + x * x;
	o->xy = o->xy * DECAY + x * y;
}

void lmi_engine_overlap_add_host(struct lmi_engine_overlap *o, uint32_t n_out, uint64_t ns)
{
	if (!n_out)
		return;
	o->host_ns = o->host_ns * DECAY + (double)ns;
	o->host_out = o->host_out * DECAY + n_out;
}

double lmi_engine_overlap_fixed_ns(const struct lmi_engine_overlap *o)
{
	double mean_x = o->n > 0 ? o->x / o->n : 0, mean_y = o->n > 0 ? o->y / o->n : 0;
	double var = o->n > 0 ? o->xx / o->n - mean_x * mean_x : 0, fixed;

	/* a spread of less than a tenth of the mean says nothing about the slope */
	if (var <= 0.01 * mean_x * mean_x)
		return mean_y;
	fixed = mean_y - (o->xy / o->n - mean_x * mean_y) / var * mean_x;
	return fixed < 0 ? 0 : fixed < mean_y ? fixed : mean_y;
}

bool lmi_engine_overlap_pays(const struct lmi_engine_overlap *o, uint32_t n_seq)
{
	if (n_seq < 2 || o->n < ENOUGH || o->host_out <= 0)
		return false;
	return o->host_ns / o->host_out * n_seq > MARGIN * lmi_engine_overlap_fixed_ns(o);
}
