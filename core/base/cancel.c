/* SPDX-License-Identifier: MIT
 *
 * The cancel word and the counts of a thread. */
#include "core/base/cancel.h"

#include <stddef.h>
#include <time.h>

static _Thread_local struct {
	struct lmi_cancel *word;
	struct lmi_cancel_counts counts;
	uint64_t last_ns; /* the end of the last call; 0: the time is not measured */
} own;

struct lmi_cancel *lmi_cancel_attach(struct lmi_cancel *c)
{
	struct lmi_cancel *previous = own.word;

	own.word = c;
	return previous;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void measure_gap(void)
{
	uint64_t now = thread_ns();

	if (now - own.last_ns > own.counts.max_gap_ns)
		own.counts.max_gap_ns = now - own.last_ns;
	own.last_ns = now;
}

bool lmi_cancel_step(uint64_t n)
{
	if (own.last_ns)
		measure_gap();
	own.counts.n_step += n;
	own.counts.n_call++;
	if (n > own.counts.max_gap)
		own.counts.max_gap = n;
	return !own.word || !lmi_cancel_is_set(own.word);
}

void lmi_cancel_counts_reset(void)
{
	own.counts = (struct lmi_cancel_counts){0};
	own.last_ns = 0;
}

void lmi_cancel_counts_time(void)
{
	lmi_cancel_counts_reset();
	own.last_ns = thread_ns();
}

struct lmi_cancel_counts lmi_cancel_counts(void)
{
	if (own.last_ns)
		measure_gap();
	return own.counts;
}
