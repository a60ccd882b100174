/* SPDX-License-Identifier: MIT
 *
 * scale_search.h - least-squares searches that the encoders share.
 *
 * All of them minimise E = sum over i of w[i] * (x[i] - decoded[i])^2 in double, where `decoded` is
 * computed from the scales as they are stored (rounded to f16).  They try several candidate scales
 * around the scale that maps the range of x onto the codes, round to codes, solve for the best
 * scale of these codes, and round again. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_SCALE_SEARCH_H
#define LLAMAD_CORE_QUANT_SEARCH_SCALE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_SEARCH_FIT_MAX        256 /* maximum number of values in one call */
#define LMI_SEARCH_FIT_CANDIDATES 14  /* number of candidate scales at each end of the range */
#define LMI_SEARCH_FIT_ROUNDS     3   /* rounds of "round, solve" for the best candidates */

/* Copies n values.  NaN becomes 0 and magnitudes are clipped to 2^100, so that every encoder
 * produces a valid block for any input. */
void lmi_search_fit_clean(const float *src, float *x, size_t n);

/* Computes weights from importance, scaled to a maximum of 1; all are 1 if importance is NULL.
 * Negative values and NaN count as 0, and if all n are 0 each counts as 1. */
void lmi_search_fit_weights(const float *importance, float *w, size_t n);

/* lmi_search_fit_clean and lmi_search_fit_weights for the n values starting at src[at]; importance
 * may be NULL. */
void lmi_search_fit_load(const float *src, const float *importance, size_t at, float *x, float *w,
			 size_t n);

/* Returns the greatest magnitude.  NaN ranks above infinity and is returned as NaN. */
float lmi_search_fit_max_magnitude(const float *x, size_t n);

/* Returns the first value of greatest magnitude, with its sign; 0 if n is 0. */
float lmi_search_fit_peak(const float *x, size_t n);

/* Returns true if none of n values is infinite or NaN. */
bool lmi_search_fit_finite(const float *x, size_t n);

/* Returns true if all n values are equal. */
bool lmi_search_fit_all_equal(const float *x, size_t n);

/* Returns f as the nearest f16, clipped to the finite range. */
float lmi_search_fit_f16(float f);

/* Returns v rounded to the nearest integer in lo..hi (ties to even); lo and hi are within +-2^22.
 * Adding 1.5 * 2^23 leaves no bits for a fraction, which avoids a call of rintf. */
static inline float lmi_search_fit_nearest(float v, float lo, float hi)
{
	v = v > lo ? v : lo; /* catches NaN as well */
	v = v < hi ? v : hi;
	return (v + 0x1.8p23f) - 0x1.8p23f;
}

static inline int lmi_search_fit_round(float v, int lo, int hi)
{
	return (int)lmi_search_fit_nearest(v, (float)lo, (float)hi);
}

/* Position of candidate scale i: where it puts the end of the range, in code steps relative to the
 * last code.  Ranges from slightly inside to well outside (which clips the greatest values). */
static inline float lmi_search_fit_candidate(int i)
{
	return -1 + 0.2f * (float)i;
}

/* Fits x ~ d * q with integer lo <= q <= hi (lo < 0 < hi); d is an f16 value of either sign.
 * Writes q [n] and returns d. */
float lmi_search_fit_scale(const float *x, const float *w, size_t n, int lo, int hi, int8_t *q);

/* Fits x ~ d * book[q] with an ascending codebook of 16 values.  Writes q [n] and returns d, an f16
 * value. */
float lmi_search_fit_book(const float *x, const float *w, size_t n, const int8_t book[16],
			  int8_t *q);

/* Writes the codes of the codebook values nearest to x[i] / d; 0 if d is 0. */
void lmi_search_fit_book_codes(const float *x, size_t n, const int8_t book[16], float d, int8_t *q);

/* Fits x ~ a * q - b with integer 0 <= q <= hi and a, b >= 0, which are not rounded to f16. */
void lmi_search_fit_affine_f32(const float *x, const float *w, size_t n, int hi, float *a,
			       float *b);

/* Fits x ~ d * q + m with integer 0 <= q <= hi; d >= 0 and m are f16 values.  Writes q [n]. */
void lmi_search_fit_affine(const float *x, const float *w, size_t n, int hi, float *d, float *m,
			   uint8_t *q);

#endif /* LLAMAD_CORE_QUANT_SEARCH_SCALE_SEARCH_H */
