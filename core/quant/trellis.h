/* SPDX-License-Identifier: MIT
 *
 * trellis.h - the points of the types IQ*_KT, and the search for the nearest.
 *
 * A point is 4 or 8 values that a generator makes of an index: x = first + index; for each value
 * x = 0xCBAC1FED x mod 2^32, and the value is the sum of the four bytes of x, of 6 bits each, less
 * 126.  They are spread like a normal distribution. */
#ifndef LLAMAD_CORE_QUANT_TRELLIS_H
#define LLAMAD_CORE_QUANT_TRELLIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/quant/bookfit.h"

#define LMI_TRELLIS_FIRST  4096u /* x of index 0 */
#define LMI_TRELLIS_SECOND 36864u /* where a group of IQ4_KT may begin instead */

/* The next value; *x is that before it. */
static inline int lmi_trellis_next(uint32_t *x)
{
	uint32_t s;

	*x *= 0xCBAC1FEDu;
	s = *x & 0x3F3F3F3Fu;
	return (int)((s & 63) + (s >> 8 & 63) + (s >> 16 & 63) + (s >> 24)) - 126;
}

struct lmi_trellis_shape {
	int dim;       /* values of a point: 4 or 8 */
	int bits;      /* of an index */
	bool magnitude; /* points are magnitudes, each value has a sign of its own */
	int n_first;   /* 1, or 2: a group's second book begins at LMI_TRELLIS_SECOND */
	int n_cut;     /* a dimension is cut so often to find points: 1 for 8 of them, 3 for 4 */
	float cut[3];
};

/* lmi_bookfit_row with these points for a book.  Of codes q[32] of a group, that at the beginning
 * of each point is its index, and for magnitudes the next one the signs, bit i = minus of value
 * i. */
float lmi_trellis_row(const struct lmi_trellis_shape *t, const struct lmi_bookshape *shape,
		      const float *src, const float *importance, size_t n, void *dst,
		      size_t block_bytes, lmi_bookpack_fn pack);

#endif /* LLAMAD_CORE_QUANT_TRELLIS_H */
