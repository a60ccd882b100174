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

/* What is read `ahead` bytes after row r: rows of the slice, or what follows it.  Hardware
 * prefetchers follow single rows, and short rows end too soon for that. */
static inline const uint8_t *kern_later_rows(const struct kern_product *p, uint32_t r, size_t ahead)
{
	size_t at = r * p->w_stride + ahead, end = p->n_row * p->w_stride;

	if (at < end)
		return (const uint8_t *)p->w + at;
	return p->next ? (const uint8_t *)p->next + (at - end)
		       : (const uint8_t *)p->w + r * p->w_stride;
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_SLICE_H */
