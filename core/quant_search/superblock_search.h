/* SPDX-License-Identifier: MIT
 *
 * superblock_search.h - superblock search: one f16 scale for 256 values and a small integer for
 * each group.
 *
 * Both functions fit each group alone, round its scale to the scales of the block, then alternately
 * improve the integers of every group and the scales of the block by least squares.  They return
 * the best result encountered.  Errors are those of scale_search.h, computed with the scales as
 * stored. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_SUPERBLOCK_SEARCH_H
#define LLAMAD_CORE_QUANT_SEARCH_SUPERBLOCK_SEARCH_H

#include <stdint.h>

#define LMI_SEARCH_SUPERBLOCK 256 /* values in a block */

/* Parameters of a type. */
struct lmi_search_superblock_shape {
	int group;          /* values in a group: 16 or 32 */
	int q_lo, q_hi;     /* range of the codes */
	int s_lo, s_hi;     /* range of the group scales; minima are in 0..s_hi */
	const int8_t *book; /* codebook of 16 values; NULL: the value is q itself */
};

struct lmi_search_superblock {
	float d, dmin;         /* f16 values */
	int16_t s[LMI_SEARCH_SUPERBLOCK / 16]; /* integer scale of each group */
	int16_t m[LMI_SEARCH_SUPERBLOCK / 16];
	int8_t q[LMI_SEARCH_SUPERBLOCK];
};

/* Fits x ~ (d * s) * q - (dmin * m) with s, m, q and dmin >= 0. */
void lmi_search_superblock_affine(const struct lmi_search_superblock_shape *k, const float *x,
				  const float *w, struct lmi_search_superblock *out);

/* Fits x ~ (d * s) * value(q); m and dmin are not used. */
void lmi_search_superblock_scale(const struct lmi_search_superblock_shape *k, const float *x,
				 const float *w, struct lmi_search_superblock *out);

#endif /* LLAMAD_CORE_QUANT_SEARCH_SUPERBLOCK_SEARCH_H */
