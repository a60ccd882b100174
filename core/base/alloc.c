/* SPDX-License-Identifier: MIT
 *
 * Allocation with accounting and an injectable failure.  Each block carries a header of
 * 64 bytes in front of it (its size), so that live bytes can be counted and every block
 * is aligned to 64.  The counters are relaxed atomics: they are statistics, nothing is
 * ordered by them.
 *
 * A large block is a mapping of its own: the kernel gives its pages, zero already, at the
 * first touch, so that a pool costs memory as it fills.  In sanitized builds all blocks come
 * from the heap and are cleared there: a sanitizer sees neither the bounds nor the leak of a
 * mapping. */
#include "core/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/checked.h"
#include "core/base/sanitized.h"

#define HEAD	  64
#define LARGE_MIN (128u << 10)

static _Atomic uint64_t n_alloc, n_live, live_bytes, peak_bytes;
static _Atomic uint64_t fail_in;
static _Atomic bool fail_sticky, failed;
static _Thread_local uint64_t thread_allocs;

static bool must_fail(void)
{
	uint64_t left = atomic_load_explicit(&fail_in, memory_order_relaxed);

	while (left) {
		uint64_t next = left == 1 && fail_sticky ? 1 : left - 1;

		if (!atomic_compare_exchange_weak(&fail_in, &left, next))
			continue;
		if (left != 1)
			return false;
		failed = true;
		return true;
	}
	return false;
}

static void count(uint64_t bytes)
{
	uint64_t live = atomic_fetch_add(&live_bytes, bytes) + bytes;
	uint64_t peak = atomic_load(&peak_bytes);

	atomic_fetch_add(&n_alloc, 1);
	atomic_fetch_add(&n_live, 1);
	while (live > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, live))
		;
	thread_allocs++;
}

/* Says the same at the end of a block's life as at its begin. */
static bool is_large(uint64_t bytes)
{
	return !LMI_SANITIZED && bytes >= LARGE_MIN;
}

/* A block of the heap takes all of its last 64 bytes, as aligned_alloc wants. */
static char *heap_take(uint64_t bytes)
{
	size_t total = ((size_t)bytes + HEAD + HEAD - 1) / HEAD * HEAD;
	char *p = aligned_alloc(HEAD, total);

	if (p)
		memset(p, 0, total);
	return p;
}

static char *map_take(uint64_t bytes)
{
	void *p = mmap(NULL, (size_t)bytes + HEAD, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

void *lmi_alloc(size_t n, size_t item_bytes)
{
	uint64_t bytes;
	char *p;

	if (!lmi_mul_ok(n, item_bytes, &bytes) || !bytes || bytes > SIZE_MAX / 2 || must_fail())
		return NULL;
	p = is_large(bytes) ? map_take(bytes) : heap_take(bytes);
	if (!p)
		return NULL;
	memcpy(p, &bytes, sizeof(bytes));
	count(bytes);
	return p + HEAD;
}

void *lmi_realloc(void *p, size_t n, size_t item_bytes)
{
	void *q = lmi_alloc(n, item_bytes);
	uint64_t old;

	if (!q || !p)
		return q;
	memcpy(&old, (char *)p - HEAD, sizeof(old));
	memcpy(q, p, old < n * item_bytes ? (size_t)old : n * item_bytes);
	lmi_free(p);
	return q;
}

void lmi_free(void *p)
{
	uint64_t bytes;

	if (!p)
		return;
	memcpy(&bytes, (char *)p - HEAD, sizeof(bytes));
	atomic_fetch_sub(&live_bytes, bytes);
	atomic_fetch_sub(&n_live, 1);
	if (is_large(bytes))
		(void)munmap((char *)p - HEAD, (size_t)bytes + HEAD); /* what was mapped */
	else
		free((char *)p - HEAD);
}

char *lmi_strndup(const char *s, size_t n)
{
	char *p = n < SIZE_MAX ? lmi_alloc(n + 1, 1) : NULL;

	if (p)
		memcpy(p, s, n);
	return p;
}

void lmi_alloc_stats(struct lmi_alloc_stats *out)
{
	out->n_alloc = atomic_load(&n_alloc);
	out->n_live = atomic_load(&n_live);
	out->live_bytes = atomic_load(&live_bytes);
	out->peak_bytes = atomic_load(&peak_bytes);
}

uint64_t lmi_alloc_thread_count(void)
{
	return thread_allocs;
}

void lmi_alloc_fail_nth(uint64_t nth, bool ever_after)
{
	failed = false;
	fail_sticky = ever_after;
	fail_in = nth;
}

bool lmi_alloc_did_fail(void)
{
	return failed;
}
