/* SPDX-License-Identifier: MIT
 *
 * alloc.h - the one door to memory.
 *
 * All of core allocates here, so that memory can be counted and so that a test can make
 * the n-th allocation fail and demand that the program says so and leaks nothing. */
#ifndef LLAMAD_CORE_BASE_ALLOC_H
#define LLAMAD_CORE_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n zeroed items of item_bytes each, aligned to 64; NULL when the product does not fit,
 * there is no memory, or either is 0.  128 KiB and more take no memory before they are
 * written to (but in sanitized builds).  Any thread. */
void *lmi_alloc(size_t n, size_t item_bytes);

/* Grows (or shrinks) to n items; new bytes are zero.  p NULL allocates.  On failure NULL is
 * returned and p is as it was. */
void *lmi_realloc(void *p, size_t n, size_t item_bytes);

/* NULL allowed. */
void lmi_free(void *p);

/* A copy with a terminating zero; NULL when there is no memory. */
char *lmi_strndup(const char *s, size_t n);

struct lmi_alloc_stats {
	uint64_t n_alloc;    /* calls that returned memory */
	uint64_t n_live;     /* blocks not freed yet */
	uint64_t live_bytes;
	uint64_t peak_bytes;
};

/* A snapshot over all threads. */
void lmi_alloc_stats(struct lmi_alloc_stats *out);

/* peak_bytes counts from now on. */
void lmi_alloc_reset_peak(void);

/* Allocations made by the calling thread so far: the token path's test takes it before
 * and after. */
uint64_t lmi_alloc_thread_count(void);

/* Tests: the allocation number `nth` from now (1 = the next) fails; with `ever_after`
 * all later ones too.  0 switches it off.  Process-wide. */
void lmi_alloc_fail_nth(uint64_t nth, bool ever_after);

/* True if a failure was injected since the last lmi_alloc_fail_nth. */
bool lmi_alloc_did_fail(void);

#endif /* LLAMAD_CORE_BASE_ALLOC_H */
