/* SPDX-License-Identifier: MIT
 *
 * kfit.h - searches for blocks with two levels of scales: one f16 for 256 values, a small
 * integer for each group.
 *
 * Both fit each group alone, round its scale to the block's, then in turn improve the
 * integers of every group and the block's scales by least squares, and return the best
 * that they met.  Errors are those of fit.h, computed with the scales as stored. */
#ifndef LLAMAD_CORE_QUANT_KFIT_H
#define LLAMAD_CORE_QUANT_KFIT_H

#include <stdint.h>

#define LMI_K 256 /* values in a block */

/* The shape of a type. */
struct lmi_kshape {
	int group;          /* values in a group: 16 or 32 */
	int q_lo, q_hi;     /* codes */
	int s_lo, s_hi;     /* scales of groups, and minima */
	const int8_t *book; /* value of code q, of 16; NULL: q itself */
};

struct lmi_kblock {
	float d, dmin;         /* f16 values */
	int16_t s[LMI_K / 16]; /* of each group */
	int16_t m[LMI_K / 16];
	int8_t q[LMI_K];
};

/* x ~ (d * s) * q - (dmin * m), all of s, m, q and dmin >= 0. */
void lmi_kfit_affine(const struct lmi_kshape *k, const float *x, const float *w,
		     struct lmi_kblock *out);

/* x ~ (d * s) * value(q); m and dmin are not used. */
void lmi_kfit_scale(const struct lmi_kshape *k, const float *x, const float *w,
		    struct lmi_kblock *out);

#endif /* LLAMAD_CORE_QUANT_KFIT_H */
