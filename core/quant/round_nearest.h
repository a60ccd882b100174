/* SPDX-License-Identifier: MIT
 *
 * round_nearest.h - plain rounding of a block of 32 values: the range gives the scale, and each value
 * is rounded to the nearest code.  One pass, no search; types used in KV caches need this. */
#ifndef LLAMAD_CORE_QUANT_ROUND_NEAREST_H
#define LLAMAD_CORE_QUANT_ROUND_NEAREST_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/quant_search/scale_search.h"
#include "core/base/bytes.h"

#define LMI_QUANT_ROUND_N 32

/* Returns the value of greatest magnitude, with its sign. */
static inline float lmi_quant_peak(const float *x)
{
	float peak = 0;

	for (int j = 0; j < LMI_QUANT_ROUND_N; j++)
		if (fabsf(x[j]) > fabsf(peak))
			peak = x[j];
	return peak;
}

static inline float lmi_quant_round_inverse(float d)
{
	return fabsf(d) > 1e-38f ? 1 / d : 0;
}

/* Returns v + bias rounded down, clipped to 0..hi; with a bias of 0.5 halves round up. */
static inline uint8_t lmi_quant_round_code(float v, float bias, int hi)
{
	v += bias;
	return (uint8_t)(v <= 0 ? 0 : v >= (float)hi ? hi : (int)v);
}

/* Writes the low four bits: value j in the low, j + 16 in the high nibble of byte j. */
static inline void lmi_quant_put_nibbles(uint8_t *qs, const uint8_t *q)
{
	for (int j = 0; j < LMI_QUANT_ROUND_N / 2; j++)
		qs[j] = (uint8_t)((q[j] & 15) | (q[j + LMI_QUANT_ROUND_N / 2] & 15) << 4);
}

/* Writes bit 4 of value j to bit j of a word. */
static inline void lmi_quant_put_fifth(uint8_t *qh, const uint8_t *q)
{
	uint32_t v = 0;

	for (int j = 0; j < LMI_QUANT_ROUND_N; j++)
		v |= (uint32_t)q[j] >> 4 << j;
	lmi_put_le32(qh, v);
}

/* Computes codes 0..2 * half - 1 centred at `half`, where the peak gets code 0; returns d. */
static inline float lmi_quant_round_symmetric(const float *src, int half, uint8_t *q)
{
	float x[LMI_QUANT_ROUND_N], d, inv;

	lmi_search_fit_clean(src, x, LMI_QUANT_ROUND_N);
	d = lmi_quant_peak(x) / (float)-half;
	inv = lmi_quant_round_inverse(d);
	for (int j = 0; j < LMI_QUANT_ROUND_N; j++)
		q[j] = lmi_quant_round_code(x[j] * inv, (float)half + 0.5f, 2 * half - 1);
	return d;
}

/* Computes codes 0..hi from the least to the greatest value, and d and m. */
static inline void lmi_quant_round_ranged(const float *src, int hi, uint8_t *q, float *d, float *m)
{
	float x[LMI_QUANT_ROUND_N], min, max, inv;

	lmi_search_fit_clean(src, x, LMI_QUANT_ROUND_N);
	min = max = x[0];
	for (int j = 1; j < LMI_QUANT_ROUND_N; j++) {
		min = fminf(min, x[j]);
		max = fmaxf(max, x[j]);
	}
	*d = (max - min) / (float)hi;
	*m = min;
	inv = lmi_quant_round_inverse(*d);
	for (int j = 0; j < LMI_QUANT_ROUND_N; j++)
		q[j] = lmi_quant_round_code((x[j] - min) * inv, 0.5f, hi);
}

/* Computes codes -127..127 with d = max |x| / 127; returns d before it is narrowed. */
static inline float lmi_quant_round_8_bits(const float *src, int8_t *q)
{
	int8_t codes[LMI_QUANT_ROUND_N];
	float clean[LMI_QUANT_ROUND_N], peak = lmi_search_fit_max_magnitude(src, LMI_QUANT_ROUND_N), d, inv;
	const float *x = src;

	if (!(peak <= 0x1p100f)) {
		lmi_search_fit_clean(src, clean, LMI_QUANT_ROUND_N);
		x = clean;
		peak = lmi_search_fit_max_magnitude(x, LMI_QUANT_ROUND_N);
	}
	d = fminf(peak / 127, 65504);
	inv = d > 0 ? 1 / d : 0;
	for (int j = 0; j < LMI_QUANT_ROUND_N; j++) /* a separate array: the compiler must assume that q aliases
				     * x */
		codes[j] = (int8_t)lmi_search_fit_round(x[j] * inv, -127, 127);
	memcpy(q, codes, LMI_QUANT_ROUND_N);
	return d;
}

#endif /* LLAMAD_CORE_QUANT_ROUND_NEAREST_H */
