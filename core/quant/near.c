/* SPDX-License-Identifier: MIT
 *
 * Plain rounding for types used in KV caches: the range of a block gives the scale, and each value
 * is rounded to the nearest code.  One pass, no search. */
#include <math.h>
#include <stdint.h>

#include "core/quant/book.h"
#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/half.h"

#define N 32

/* Returns the value of greatest magnitude, with its sign. */
static float peak_of(const float *x)
{
	float peak = 0;

	for (int j = 0; j < N; j++)
		if (fabsf(x[j]) > fabsf(peak))
			peak = x[j];
	return peak;
}

static float inverse(float d)
{
	return fabsf(d) > 1e-38f ? 1 / d : 0;
}

/* Returns v + bias rounded down, clipped to 0..hi; with a bias of 0.5 halves round up. */
static uint8_t code(float v, float bias, int hi)
{
	v += bias;
	return (uint8_t)(v <= 0 ? 0 : v >= (float)hi ? hi : (int)v);
}

static void put_nibbles(uint8_t qs[N / 2], const uint8_t q[N])
{
	for (int j = 0; j < N / 2; j++)
		qs[j] = (uint8_t)((q[j] & 15) | (q[j + N / 2] & 15) << 4);
}

static void put_fifth(uint8_t qh[4], const uint8_t q[N])
{
	uint32_t v = 0;

	for (int j = 0; j < N; j++)
		v |= (uint32_t)q[j] >> 4 << j;
	lmi_put_le32(qh, v);
}

/* Codes centred at `half`; the peak gets code 0. */
static float symmetric(const float *src, int half, uint8_t q[N])
{
	float x[N], d, inv;

	lmi_fit_clean(src, x, N);
	d = peak_of(x) / (float)-half;
	inv = inverse(d);
	for (int j = 0; j < N; j++)
		q[j] = code(x[j] * inv, (float)half + 0.5f, 2 * half - 1);
	return d;
}

/* Codes 0..hi from the least to the greatest value. */
static void ranged(const float *src, int hi, uint8_t q[N], float *d, float *m)
{
	float x[N], min, max, inv;

	lmi_fit_clean(src, x, N);
	min = max = x[0];
	for (int j = 1; j < N; j++) {
		min = fminf(min, x[j]);
		max = fmaxf(max, x[j]);
	}
	*d = (max - min) / (float)hi;
	*m = min;
	inv = inverse(*d);
	for (int j = 0; j < N; j++)
		q[j] = code((x[j] - min) * inv, 0.5f, hi);
}

void lmi_q6_0_near(const float *src, void *dst, size_t n, const float *importance)
{
	uint8_t *b = dst, q[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 26) {
		lmi_put_f16(b, lmi_fit_f16(symmetric(src + i, 32, q)));
		for (int j = 0; j < N / 4; j++) /* bit order of q6_0.c */
			b[2 + j] = (uint8_t)(q[j] >> 4 | q[j + 16] >> 4 << 2 | q[j + 8] >> 4 << 4 |
					     q[j + 24] >> 4 << 6);
		put_nibbles(b + 10, q);
	}
}

void lmi_q4_0_near(const float *src, void *dst, size_t n, const float *importance)
{
	uint8_t *b = dst, q[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 18) {
		lmi_put_f16(b, lmi_fit_f16(symmetric(src + i, 8, q)));
		put_nibbles(b + 2, q);
	}
}

void lmi_q4_1_near(const float *src, void *dst, size_t n, const float *importance)
{
	uint8_t *b = dst, q[N];
	float d, m;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 20) {
		ranged(src + i, 15, q, &d, &m);
		lmi_put_f16(b, lmi_fit_f16(d));
		lmi_put_f16(b + 2, lmi_fit_f16(m));
		put_nibbles(b + 4, q);
	}
}

void lmi_q5_0_near(const float *src, void *dst, size_t n, const float *importance)
{
	uint8_t *b = dst, q[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 22) {
		lmi_put_f16(b, lmi_fit_f16(symmetric(src + i, 16, q)));
		put_fifth(b + 2, q);
		put_nibbles(b + 6, q);
	}
}

void lmi_q5_1_near(const float *src, void *dst, size_t n, const float *importance)
{
	uint8_t *b = dst, q[N];
	float d, m;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 24) {
		ranged(src + i, 31, q, &d, &m);
		lmi_put_f16(b, lmi_fit_f16(d));
		lmi_put_f16(b + 2, lmi_fit_f16(m));
		put_fifth(b + 4, q);
		put_nibbles(b + 8, q);
	}
}

/* Puts the peak at the end of the codebook, then computes the best scale for these codes. */
void lmi_iq4_nl_near(const float *src, void *dst, size_t n, const float *importance)
{
	uint8_t *b = dst, codes[N];
	int8_t q[N];
	float x[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 18) {
		float d, xv = 0, vv = 0;

		lmi_fit_clean(src + i, x, N);
		d = peak_of(x) / (float)lmi_book_iq4[0];
		lmi_fit_book_codes(x, N, lmi_book_iq4, fabsf(d) > 1e-38f ? d : 0, q);
		for (int j = 0; j < N; j++) {
			float v = lmi_book_iq4[q[j]], w = x[j] * x[j];

			xv += w * v * x[j];
			vv += w * v * v;
			codes[j] = (uint8_t)q[j];
		}
		if (vv > 0 && isfinite(xv) && isfinite(vv))
			d = xv / vv;
		lmi_put_f16(b, lmi_fit_f16(d));
		put_nibbles(b + 2, codes);
	}
}
