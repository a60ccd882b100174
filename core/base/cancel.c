/* SPDX-License-Identifier: MIT
 *
 * The cancel word and the counts of a thread. */
#include "core/base/cancel.h"

#include <stddef.h>

static _Thread_local struct {
	struct lmi_cancel *word;
	struct lmi_cancel_counts counts;
} own;

struct lmi_cancel *lmi_cancel_attach(struct lmi_cancel *c)
{
	struct lmi_cancel *previous = own.word;

	own.word = c;
	return previous;
}

bool lmi_cancel_step(uint64_t n)
{
	own.counts.n_step += n;
	own.counts.n_call++;
	if (n > own.counts.max_gap)
		own.counts.max_gap = n;
	return !own.word || !lmi_cancel_is_set(own.word);
}

void lmi_cancel_counts_reset(void)
{
	own.counts = (struct lmi_cancel_counts){0};
}

struct lmi_cancel_counts lmi_cancel_counts(void)
{
	return own.counts;
}
