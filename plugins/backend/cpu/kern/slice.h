/* SPDX-License-Identifier: MIT
 *
 * slice.h - addresses in a slice of weight rows that a kernel multiplies in place. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_SLICE_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_SLICE_H

#include "kern.h"

/* Addresses of rows [r, r + n), n constant; the last row is repeated past the end. */
static inline __attribute__((always_inline)) void
kern_row_addresses(const struct kern_product *p, uint32_t r, uint32_t n, const uint8_t **w)
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = r + i < p->n_row ? r + i : p->n_row - 1;

		w[i] = (const uint8_t *)p->w + row * p->w_stride;
	}
}

/* Distance from a prefetch to its repetition, in bytes. */
#define KERN_PREFETCH_AGAIN 0x2000

/* Prefetches the line at p, and again the one for which this was called KERN_PREFETCH_AGAIN bytes
 * ago: processors drop prefetches while too many lines are on their way, and a kernel that is faster
 * than memory then waits for the dropped ones.  The hint "all caches" (3) serves caches of the first
 * level that are smaller than the distance. */
static inline __attribute__((always_inline)) void kern_prefetch(const void *p)
{
	__builtin_prefetch(p, 0, 3);
	__builtin_prefetch((const char *)p - KERN_PREFETCH_AGAIN, 0, 3);
}

/* Where to prefetch while the `together` bytes from byte `at` on of a slice of `end` bytes are
 * multiplied: beyond all of them, since prefetches follow each other in memory, but the first bytes of
 * all rows are needed first; and at most half the size of a small second-level cache ahead.  What
 * follows the slice is p->next.  Hardware prefetchers follow single rows, and short rows end too soon
 * for that. */
static inline const uint8_t *kern_later(const struct kern_product *p, size_t at, size_t end,
					size_t together)
{
	const size_t ahead = together + KERN_PREFETCH_AGAIN + 0x1000;
	const size_t later = at + (ahead < 0x6000 ? 0x6000 : ahead > 0x40000 ? 0x40000 : ahead);

	if (later < end)
		return (const uint8_t *)p->w + later;
	return p->next ? (const uint8_t *)p->next + (later - end) : (const uint8_t *)p->w + at;
}

/* Where to prefetch while rows [r, r + n) are multiplied together. */
static inline const uint8_t *kern_later_rows(const struct kern_product *p, uint32_t r, uint32_t n)
{
	return kern_later(p, r * p->w_stride, p->n_row * p->w_stride, n * p->w_stride);
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_SLICE_H */
