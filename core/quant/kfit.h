/* SPDX-License-Identifier: MIT
 *
 * kfit.h - superblock search: one f16 scale for 256 values and a small integer for each group.
 *
 * Both functions fit each group alone, round its scale to the scales of the block, then alternately
 * improve the integers of every group and the scales of the block by least squares.  They return
 * the best result encountered.  Errors are those of fit.h, computed with the scales as stored. */
#ifndef LLAMAD_CORE_QUANT_KFIT_H
#define LLAMAD_CORE_QUANT_KFIT_H

#include <stdint.h>

#define LMI_K 256 /* values in a block */

/* Parameters of a type. */
struct lmi_kshape {
	int group;          /* values in a group: 16 or 32 */
	int q_lo, q_hi;     /* range of the codes */
	int s_lo, s_hi;     /* range of the group scales; minima are in 0..s_hi */
	const int8_t *book; /* codebook of 16 values; NULL: the value is q itself */
};

struct lmi_kblock {
	float d, dmin;         /* f16 values */
	int16_t s[LMI_K / 16]; /* integer scale of each group */
	int16_t m[LMI_K / 16];
	int8_t q[LMI_K];
};

/* Fits x ~ (d * s) * q - (dmin * m) with s, m, q and dmin >= 0. */
void lmi_kfit_affine(const struct lmi_kshape *k, const float *x, const float *w,
		     struct lmi_kblock *out);

/* Fits x ~ (d * s) * value(q); m and dmin are not used. */
void lmi_kfit_scale(const struct lmi_kshape *k, const float *x, const float *w,
		    struct lmi_kblock *out);

#endif /* LLAMAD_CORE_QUANT_KFIT_H */
