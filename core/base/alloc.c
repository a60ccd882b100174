/* SPDX-License-Identifier: MIT
 *
 * Allocation with accounting and an injectable failure.  Each block carries a header of
 * 64 bytes in front of it (its size), so that live bytes can be counted and every block
 * is aligned to 64.  The counters are relaxed atomics: they are statistics, nothing is
 * ordered by them. */
#include "core/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"

#define HEAD 64

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

void *lmi_alloc(size_t n, size_t item_bytes)
{
	uint64_t bytes, total;
	char *p;

	if (!lmi_mul_ok(n, item_bytes, &bytes) || !bytes || !lmi_align_ok(bytes, HEAD, &total) ||
	    !lmi_add_ok(total, HEAD, &total) || total > SIZE_MAX / 2 || must_fail())
		return NULL;
	p = aligned_alloc(HEAD, (size_t)total);
	if (!p)
		return NULL;
	memset(p, 0, (size_t)total);
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
