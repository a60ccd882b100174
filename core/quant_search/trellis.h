/* SPDX-License-Identifier: MIT
 *
 * trellis.h - the trellis codebooks of the types IQ*_KT, and the search for the nearest point.
 *
 * A point has 4 or 8 values, generated from an index: x = first + index; then for each value
 * x = 0xCBAC1FED x mod 2^32, and the value is the sum of the low 6 bits of each of the four bytes
 * of x, minus 126.  The values are approximately normally distributed. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_TRELLIS_H
#define LLAMAD_CORE_QUANT_SEARCH_TRELLIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/quant_search/codebook_search.h"

#define LMI_SEARCH_TRELLIS_FIRST  4096u  /* x of index 0 */
#define LMI_SEARCH_TRELLIS_SECOND 36864u /* where the second codebook of IQ4_KT starts */

/* Returns the next value; *x is the generator state. */
static inline int lmi_search_trellis_next(uint32_t *x)
{
	uint32_t s;

	*x *= 0xCBAC1FEDu;
	s = *x & 0x3F3F3F3Fu;
	return (int)((s & 63) + (s >> 8 & 63) + (s >> 16 & 63) + (s >> 24)) - 126;
}

struct lmi_search_trellis_shape {
	int dim;       /* number of values in a point: 4 or 8 */
	int bits;      /* bits of an index */
	bool magnitude; /* points are magnitudes; each value has its own sign */
	int n_codebook; /* 1, or 2: a group's second codebook starts at LMI_SEARCH_TRELLIS_SECOND */
	int n_cut;     /* number of cuts per dimension that divide points into cells: 1 for 8
			* dimensions, 3 for 4 */
	float cut[3];
};

/* lmi_search_codebook_row with these points as the codebook.  Of the codes q[32] of a group, the
 * one at the start of each point is its index; for magnitudes the next one holds the signs, bit i =
 * value i is negative. */
float lmi_search_trellis_row(const struct lmi_search_trellis_shape *t,
			     const struct lmi_search_codebook_shape *shape, const float *src,
			     const float *importance, size_t n, void *dst, size_t block_bytes,
			     lmi_search_codebook_pack_fn pack);

#endif /* LLAMAD_CORE_QUANT_SEARCH_TRELLIS_H */
