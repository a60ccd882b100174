/* SPDX-License-Identifier: MIT
 *
 * fit.h - least-squares searches that the encoders share.
 *
 * All minimise E = sum over i of w[i] * (x[i] - decoded[i])^2 in double, where `decoded` is
 * computed from the scales as they are stored (rounded to f16).  They try a fan of scales
 * around the one that maps the range of x onto the codes, round, solve for the best scale
 * with these codes, and round again. */
#ifndef LLAMAD_CORE_QUANT_FIT_H
#define LLAMAD_CORE_QUANT_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_FIT_MAX    256 /* values in one call */
#define LMI_FIT_FAN    14  /* scales that are probed at each end of the range */
#define LMI_FIT_ROUNDS 3   /* of "round, solve" for those that are looked at closer */

/* Copies n values with NaN as 0 and magnitudes cut at 2^100, so that every encoder gives a
 * valid block for any input. */
void lmi_fit_clean(const float *src, float *x, size_t n);

/* weights: importance, scaled to a greatest value of 1, or 1 for each when it is NULL.
 * Negative and NaN count as 0, and when all n are 0 each counts as 1. */
void lmi_fit_weights(const float *importance, float *w, size_t n);

/* Both for the n values from src[at] on; importance may be NULL. */
void lmi_fit_load(const float *src, const float *importance, size_t at, float *x, float *w,
		  size_t n);

/* The greatest magnitude; NaN is above infinity, and comes back as NaN. */
float lmi_fit_greatest(const float *x, size_t n);

/* True when none of n values is infinite or no number. */
bool lmi_fit_finite(const float *x, size_t n);

/* True when all n values are equal. */
bool lmi_fit_flat(const float *x, size_t n);

/* f as the nearest f16, cut to the finite range. */
float lmi_fit_f16(float f);

/* v rounded to the nearest integer (ties to even) of lo..hi, which are within +-2^22.
 * Adding 1.5 * 2^23 leaves no bit for a fraction; no call of rintf. */
static inline float lmi_fit_nearest(float v, float lo, float hi)
{
	v = v > lo ? v : lo; /* NaN too */
	v = v < hi ? v : hi;
	return (v + 0x1.8p23f) - 0x1.8p23f;
}

static inline int lmi_fit_round(float v, int lo, int hi)
{
	return (int)lmi_fit_nearest(v, (float)lo, (float)hi);
}

/* Where, in steps of codes and relative to the last code, member i of the fan puts the end
 * of the range: a little inside, up to well outside (which cuts the greatest values). */
static inline float lmi_fit_fan(int i)
{
	return -1 + 0.2f * (float)i;
}

/* x ~ d * q with integer lo <= q <= hi (lo < 0 < hi); d is an f16 value of either sign.
 * Returns d; q [n]. */
float lmi_fit_scale(const float *x, const float *w, size_t n, int lo, int hi, int8_t *q);

/* x ~ d * book[q] with an ascending book of 16 values.  Returns d (an f16 value); q [n]. */
float lmi_fit_book(const float *x, const float *w, size_t n, const int8_t book[16], int8_t *q);

/* The codes of the book's values nearest to x[i] / d; 0 for d 0. */
void lmi_fit_book_codes(const float *x, size_t n, const int8_t book[16], float d, int8_t *q);

/* x ~ a * q - b with integer 0 <= q <= hi and a, b >= 0, neither rounded to f16. */
void lmi_fit_slope(const float *x, const float *w, size_t n, int hi, float *a, float *b);

/* x ~ d * q + m with integer 0 <= q <= hi; d >= 0 and m are f16 values.  q [n]. */
void lmi_fit_affine(const float *x, const float *w, size_t n, int hi, float *d, float *m,
		    uint8_t *q);

#endif /* LLAMAD_CORE_QUANT_FIT_H */
