/* SPDX-License-Identifier: MIT
 *
 * clock.h - units of time.  Clocks count nanoseconds as uint64_t; limits and messages to clients are
 * in milliseconds. */
#ifndef LLAMAD_CORE_BASE_CLOCK_H
#define LLAMAD_CORE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define LMI_NS_PER_MS 1000000ull

/* Returns the time since an unknown point in the past; it never goes backwards. */
static inline uint64_t lmi_clock_monotonic_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the processor time of this thread so far, in nanoseconds; 0 if it is not known. */
static inline uint64_t lmi_clock_thread_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif /* LLAMAD_CORE_BASE_CLOCK_H */
