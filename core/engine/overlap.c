/* SPDX-License-Identifier: MIT
 *
 * Estimates the costs of steps by exponentially weighted least squares. */
#include "core/engine/overlap.h"

/* Weight of a step relative to the next one: about the last 50 steps count. */
#define DECAY 0.98
/* Number of steps (weighted) before anything is decided. */
#define ENOUGH 8.0
/* How many times the fixed cost the host's work must take so that sequences begin to take turns in
 * halves, and go on doing so.  They differ so that noise does not change it to and fro. */
#define MARGIN_BEGIN 1.25
#define MARGIN_END   1.05

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

double lmi_engine_overlap_host_ns(const struct lmi_engine_overlap *o, uint32_t n_out)
{
	return o->host_out > 0 ? o->host_ns / o->host_out * n_out : 0;
}

bool lmi_engine_overlap_pays(struct lmi_engine_overlap *o, uint32_t n_seq)
{
	const double margin = o->halves ? MARGIN_END : MARGIN_BEGIN;

	o->halves = n_seq >= 2 && o->n >= ENOUGH && o->host_out > 0 &&
		    lmi_engine_overlap_host_ns(o, n_seq) > margin * lmi_engine_overlap_fixed_ns(o);
	return o->halves;
}
