/* SPDX-License-Identifier: MIT
 *
 * Estimates the costs of steps by exponentially weighted least squares, and compares the two ways by turns. */
#include "core/engine/overlap.h"

/* Weight of a step relative to the next one: about the last 50 steps count. */
#define DECAY 0.98
/* Number of steps (weighted) before anything is decided. */
#define ENOUGH 8.0
/* How many times the fixed cost the host's work must take so that sequences begin to take turns in
 * halves, and go on doing so.  They differ so that noise does not change it to and fro. */
#define MARGIN_BEGIN 1.25
#define MARGIN_END   1.05

/* Several devices, in halves of steps: a whole step counts twice. */
#define N_FILL                                                                                     \
	2u /* after a change of the way that do not count: the devices get their first work */
#define N_TRY 16u /* of each way that are compared */
/* Until the other way is tried: at first; at most when the number of sequences has changed, and after it
 * has won; and at most, after it has lost again and again. Halves that take twice as long cost the time of 9
 * whole steps each time. */
#define WAIT_FIRST   64u
#define WAIT_CHANGED 512u
#define WAIT_MOST    8192u
/* The other way has to take less than this part of the time. */
#define MARGIN_CHANGE 0.97

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

void lmi_engine_overlap_add_turn(struct lmi_engine_overlap *o, bool halves, uint32_t n_row,
				 uint64_t ns)
{
	struct lmi_engine_overlap_way *w = &o->ways[halves];

	/* steps of the way before may still end */
	if (halves != o->halves || !n_row)
		return;
	o->n_half += halves ? 1 : 2;
	w->n_half += halves ? 1 : 2;
	if (w->n_half <= N_FILL)
		return;
	w->ns = w->ns * DECAY + (double)ns;
	w->rows = w->rows * DECAY + n_row;
}

static void begin_way(struct lmi_engine_overlap *o, bool halves)
{
	o->halves = halves;
	o->ways[halves] = (struct lmi_engine_overlap_way){.n_half = 0};
	o->n_half = 0;
}

/* Ends a trial of the way of now. */
static void compare(struct lmi_engine_overlap *o)
{
	const struct lmi_engine_overlap_way *now = &o->ways[o->halves],
					    *other = &o->ways[!o->halves];

	o->tries = false;
	o->n_half = 0;
	if (now->ns * other->rows < MARGIN_CHANGE * other->ns * now->rows) {
		o->n_wait = WAIT_CHANGED;
		return;
	}
	begin_way(o, !o->halves);
	o->n_wait = o->n_wait < WAIT_MOST / 4 ? 4 * o->n_wait : WAIT_MOST;
}

/* Forgets what was measured with another number of sequences. */
static void begin_again(struct lmi_engine_overlap *o, uint32_t n_seq)
{
	o->n_wait = !o->n_seq ? WAIT_FIRST : o->n_wait < WAIT_CHANGED ? o->n_wait : WAIT_CHANGED;
	o->n_seq = n_seq;
	if (o->tries)
		begin_way(o, !o->halves);
	o->tries = false;
	o->ways[o->halves] = (struct lmi_engine_overlap_way){.n_half = 0};
}

bool lmi_engine_overlap_in_turns(struct lmi_engine_overlap *o, uint32_t n_seq)
{
	const struct lmi_engine_overlap_way *now = &o->ways[o->halves];

	if (n_seq > 2 * (uint64_t)o->n_seq || 2 * (uint64_t)n_seq < o->n_seq) {
		begin_again(o, n_seq);
	} else if (now->n_half < N_FILL + N_TRY) {
		return o->halves;
	} else if (o->tries) {
		compare(o);
	} else if (o->n_half >= o->n_wait) {
		begin_way(o, !o->halves);
		o->tries = true;
	}
	return o->halves;
}

bool lmi_engine_overlap_pays(struct lmi_engine_overlap *o, uint32_t n_seq)
{
	const double margin = o->halves ? MARGIN_END : MARGIN_BEGIN;

	o->halves = n_seq >= 2 && o->n >= ENOUGH && o->host_out > 0 &&
		    lmi_engine_overlap_host_ns(o, n_seq) > margin * lmi_engine_overlap_fixed_ns(o);
	return o->halves;
}
