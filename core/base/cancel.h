/* SPDX-License-Identifier: MIT
 *
 * cancel.h - ends long work in the middle.
 *
 * Work that may take longer than a moment calls lmi_cancel_step as it proceeds, with the number of
 * steps done since the last call. One step is about 10 ns of work: one byte of a plain loop; code
 * that handles 16 bytes at a time counts bytes / 16. The function returns false once the thread's
 * cancel word is set; the work then ends with LMD_CANCELLED. No more than LMI_CANCEL_GAP_MAX steps,
 * about 50 ms, may pass between two calls.
 *
 * The cancel word belongs to the job that does the work (jobs.h) and is attached to the
 * thread that does it, so that it reaches every library and plugin without a parameter. Without a
 * cancel word nothing is ever cancelled. */
#ifndef LLAMAD_CORE_BASE_CANCEL_H
#define LLAMAD_CORE_BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LMI_CANCEL_GAP_MAX (1u << 22)

/* A zeroed word is not set. */
struct lmi_cancel {
	_Atomic bool set;
};

/* Any thread. */
static inline void lmi_cancel_set(struct lmi_cancel *c)
{
	atomic_store_explicit(&c->set, true, memory_order_relaxed);
}

static inline bool lmi_cancel_is_set(const struct lmi_cancel *c)
{
	return atomic_load_explicit(&c->set, memory_order_relaxed);
}

/* Attaches a word to the calling thread and returns the previous one; NULL: none. */
struct lmi_cancel *lmi_cancel_attach(struct lmi_cancel *c);

/* Counts n steps of the calling thread. Returns false if its word is set. */
bool lmi_cancel_step(uint64_t n);

/* Counts of the calling thread since the last reset, for tests. */
struct lmi_cancel_counts {
	uint64_t n_step, n_call;
	uint64_t max_gap; /* most steps between two calls */
	/* if it is measured: the longest time between two calls, before the first and after the last
	 * one, in nanoseconds that the thread computed */
	uint64_t max_gap_ns;
};
void lmi_cancel_counts_reset(void);
struct lmi_cancel_counts lmi_cancel_counts(void);
/* As lmi_cancel_counts_reset, and measures the time from now on until the next reset. */
void lmi_cancel_counts_time(void);

#endif /* LLAMAD_CORE_BASE_CANCEL_H */
