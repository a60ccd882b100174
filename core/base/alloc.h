/* SPDX-License-Identifier: MIT
 *
 * alloc.h - memory allocation.
 *
 * All of core allocates through these functions, so that memory can be counted and so that a test
 * can make the n-th allocation fail and check that the error is reported and nothing leaks. */
#ifndef LLAMAD_CORE_BASE_ALLOC_H
#define LLAMAD_CORE_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocates n zeroed items of item_bytes each, aligned to 64. Returns NULL if the product
 * overflows, if memory runs out, or if n or item_bytes is 0. Blocks of 128 KiB and more use no
 * memory until they are written to (except in sanitized builds). Any thread. */
void *lmi_alloc(size_t n, size_t item_bytes);

/* Resizes to n items; new bytes are zero. If p is NULL, allocates. On failure returns NULL and
 * leaves p unchanged. */
void *lmi_realloc(void *p, size_t n, size_t item_bytes);

/* p may be NULL. */
void lmi_free(void *p);

/* Returns a copy with a terminating zero; NULL if memory runs out. */
char *lmi_strndup(const char *s, size_t n);

struct lmi_alloc_stats {
	uint64_t n_alloc;    /* calls that returned memory */
	uint64_t n_live;     /* blocks not yet freed */
	uint64_t live_bytes;
	uint64_t peak_bytes;
};

/* Takes a snapshot over all threads. */
void lmi_alloc_stats(struct lmi_alloc_stats *out);

/* Restarts peak_bytes from the current use. */
void lmi_alloc_reset_peak(void);

/* Returns how many allocations the calling thread has made so far. The test of the token path
 * compares the count before and after. */
uint64_t lmi_alloc_thread_count(void);

/* Returns how many bytes the calling thread has allocated, less those that it has freed. */
int64_t lmi_alloc_thread_bytes(void);

/* For tests: makes the nth allocation from now (1 = the next) fail; with `ever_after` all later
 * ones fail as well. 0 disables it. Process-wide. */
void lmi_alloc_fail_nth(uint64_t nth, bool ever_after);

/* Returns true if a failure has been injected since the last lmi_alloc_fail_nth. */
bool lmi_alloc_did_fail(void);

#endif /* LLAMAD_CORE_BASE_ALLOC_H */
