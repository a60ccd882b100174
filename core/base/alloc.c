/* SPDX-License-Identifier: MIT
 *
 * Memory allocation with accounting and fault injection. Each block has a 64-byte header that
 * stores its size, so that live bytes can be counted and every block is aligned to 64. The counters
 * are relaxed atomics: they are statistics and order nothing.
 *
 * A large block is its own mapping: the kernel supplies zeroed pages on first touch, so a pool uses
 * memory only as it fills. In sanitized builds all blocks come from the heap and are cleared here,
 * because a sanitizer sees neither the bounds nor the leak of a mapping. */
#include "core/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/checked.h"
#include "core/base/sanitized.h"

#define HEAD	  64
#define LARGE_MIN (128u << 10)
/* Blocks up to this size are tables, which are mostly written in full. Larger ones may be
 * sparse. */
#define HUGE_MIN (2u << 20)
#define HUGE_MAX (64u << 20)
#define HUGE_PAGE ((size_t)2 << 20)

static _Atomic uint64_t n_alloc, n_live, live_bytes, peak_bytes;
static _Atomic uint64_t fail_in;
static _Atomic bool fail_sticky, failed;
static _Thread_local uint64_t thread_allocs;
static _Thread_local int64_t thread_bytes;

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
	thread_bytes += (int64_t)bytes;
}

static void uncount(uint64_t bytes)
{
	atomic_fetch_sub(&live_bytes, bytes);
	atomic_fetch_sub(&n_live, 1);
	thread_bytes -= (int64_t)bytes;
}

/* Gives the same answer when a block is freed as when it was allocated. */
static bool is_large(uint64_t bytes)
{
	return !LMI_SANITIZED && bytes >= LARGE_MIN;
}

/* Rounds the size of a heap block up to a multiple of 64, as aligned_alloc requires. */
static char *heap_take(uint64_t bytes)
{
	size_t total = ((size_t)bytes + HEAD + HEAD - 1) / HEAD * HEAD;
	char *p = aligned_alloc(HEAD, total);

	if (p)
		memset(p, 0, total);
	return p;
}

static char *map_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

/* Uses huge pages where the system provides them; they start at multiples of their size. */
static char *map_huge(size_t n)
{
	char *p = map_pages(n + HUGE_PAGE), *from;
	size_t front, page = (size_t)sysconf(_SC_PAGESIZE), back;

	if (!p)
		return NULL;
	front = (HUGE_PAGE - ((uintptr_t)p & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
	from = p + front;
	n = (n + page - 1) / page * page;
	back = HUGE_PAGE - front;
	if (front)
		(void)munmap(p, front);
	if (back)
		(void)munmap(from + n, back);
	(void)madvise(from, n, MADV_HUGEPAGE); /* a hint */
	return from;
}

static char *map_take(uint64_t bytes)
{
	bool huge = bytes >= HUGE_MIN && bytes <= HUGE_MAX;

	return huge ? map_huge((size_t)bytes + HEAD) : map_pages((size_t)bytes + HEAD);
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

/* Resizes a large block that stays large: its pages move, their bytes are not copied. Returns NULL
 * if that is not possible. */
static char *map_resize(char *block, uint64_t old, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE),
		 end = (old + HEAD + page - 1) / page * page;
	char *p = mremap(block, (size_t)old + HEAD, (size_t)bytes + HEAD, MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		return NULL;
	/* the rest of the old last page is already zero unless the block had shrunk */
	if (bytes > old)
		memset(p + HEAD + old, 0,
		       (size_t)((end < bytes + HEAD ? end : bytes + HEAD) - old - HEAD));
	memcpy(p, &bytes, sizeof(bytes));
	return p;
}

void *lmi_realloc(void *p, size_t n, size_t item_bytes)
{
	uint64_t old = 0, bytes;
	char *q;

	if (p)
		memcpy(&old, (char *)p - HEAD, sizeof(old));
	if (p && is_large(old) && lmi_mul_ok(n, item_bytes, &bytes) && is_large(bytes) &&
	    bytes <= SIZE_MAX / 2) {
		q = must_fail() ? NULL : map_resize((char *)p - HEAD, old, bytes);
		if (!q)
			return NULL;
		count(bytes);
		uncount(old);
		return q + HEAD;
	}
	q = lmi_alloc(n, item_bytes);
	if (!q || !p)
		return q;
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
	uncount(bytes);
	if (is_large(bytes))
		(void)munmap((char *)p - HEAD, (size_t)bytes + HEAD); /* drop whatever was mapped */
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

void lmi_alloc_reset_peak(void)
{
	atomic_store(&peak_bytes, atomic_load(&live_bytes));
}

uint64_t lmi_alloc_thread_count(void)
{
	return thread_allocs;
}

int64_t lmi_alloc_thread_bytes(void)
{
	return thread_bytes;
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
