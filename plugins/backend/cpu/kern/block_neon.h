/* SPDX-License-Identifier: MIT
 *
 * block_neon.h - a block of 32 values of four weight rows in registers, times rows of x.
 *
 * Each lane belongs to a weight row, so that nothing is added across lanes.  What the translation
 * unit is compiled for decides how bytes are multiplied: with SMMLA (two rows times two rows of x),
 * with SDOT, or plainly. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_BLOCK_NEON_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_BLOCK_NEON_H

#include <arm_neon.h>
#include <string.h>

#include "kern.h"
#include "properties.h"

#define FOUR 4u /* rows of a weight in a block */
#define PASS 4u /* largest number of rows of x that are multiplied together */

struct block4 {
	int8x16_t q[8];    /* vector j: values 4j to 4j+3 of each row, without their scales */
	float32x4_t d, m;  /* D and M of the rows */
	int32x4_t sc[2];   /* factors of the halves */
	int32x4_t mn[2];   /* Q2_K: minima of the halves */
};

INLINE float32x4_t x_float(const void *x, size_t offset, size_t i)
{
	return vld1q_dup_f32((const float *)(const void *)((const char *)x + offset) + i);
}

INLINE int32x4_t x_int(const void *x, size_t offset, size_t i)
{
	return vld1q_dup_s32((const int32_t *)(const void *)((const char *)x + offset) + i);
}

/* sum + values of four rows times dword `lane` of v. */
INLINE int32x4_t dot(int32x4_t sum, int8x16_t q, int8x16_t v, int lane)
{
	int8x16_t four = vreinterpretq_s8_s32(
		lane == 0   ? vdupq_laneq_s32(vreinterpretq_s32_s8(v), 0)
		: lane == 1 ? vdupq_laneq_s32(vreinterpretq_s32_s8(v), 1)
		: lane == 2 ? vdupq_laneq_s32(vreinterpretq_s32_s8(v), 2)
			    : vdupq_laneq_s32(vreinterpretq_s32_s8(v), 3));
#ifdef __ARM_FEATURE_DOTPROD
	return vdotq_s32(sum, q, four);
#else
	int16x8_t low = vmull_s8(vget_low_s8(q), vget_low_s8(four));
	int16x8_t high = vmull_high_s8(q, four);

	return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
}

/* s[0], s[1]: sums over the first 16 and the last 16 values of block b, times one row of x. */
INLINE void sums_of_one(const struct block4 *c, const void *x, size_t b, int32x4_t s[2])
{
	const int8_t *v = (const int8_t *)x + 32 * b;

#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		int8x16_t half = vld1q_s8(v + 16 * h);

		s[h] = vdupq_n_s32(0);
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			s[h] = dot(s[h], c->q[4 * h + j], half, j);
	}
}

/* Products of the four rows with n_col rows of x; n_col is constant. */
INLINE void block_sums(const struct block4 *c, const void *const *x, size_t b, uint32_t n_col,
		       int32x4_t s[PASS][2])
{
	uint32_t i = 0;
#ifdef __ARM_FEATURE_MATMUL_INT8
	int8x16_t w[2][4]; /* rows 0 and 1, rows 2 and 3: eight values of each */

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		int32x4_t even = vreinterpretq_s32_s8(c->q[2 * j]);
		int32x4_t odd = vreinterpretq_s32_s8(c->q[2 * j + 1]);

		w[0][j] = vreinterpretq_s8_s32(vzip1q_s32(even, odd));
		w[1][j] = vreinterpretq_s8_s32(vzip2q_s32(even, odd));
	}
#pragma GCC unroll 4
	for (; i + 2 <= n_col; i += 2) {
#pragma GCC unroll 2
		for (int h = 0; h < 2; h++) {
			int64x2_t v = vld1q_s64((const void *)((const char *)x[i] + 32 * b + 16 * h));
			int64x2_t u =
				vld1q_s64((const void *)((const char *)x[i + 1] + 32 * b + 16 * h));
			int8x16_t low = vreinterpretq_s8_s64(vzip1q_s64(v, u));
			int8x16_t high = vreinterpretq_s8_s64(vzip2q_s64(v, u));
			int32x4_t t[2];

#pragma GCC unroll 2
			for (int r = 0; r < 2; r++) {
				t[r] = vmmlaq_s32(vdupq_n_s32(0), w[r][2 * h], low);
				t[r] = vmmlaq_s32(t[r], w[r][2 * h + 1], high);
			}
			s[i][h] = vuzp1q_s32(t[0], t[1]);
			s[i + 1][h] = vuzp2q_s32(t[0], t[1]);
		}
	}
#endif
#pragma GCC unroll 4
	for (; i < n_col; i++)
		sums_of_one(c, x[i], b, s[i]);
}

/* D * d * (sum of P*q), plus M * e, M * d * minima, or the second D times d times its sum. */
INLINE float32x4_t terms(uint32_t dtype, const struct block4 *c, const int32x4_t s[2], const void *x,
			 uint32_t k, size_t b)
{
	const float32x4_t d = x_float(x, KERN_Q8_D(k), b);
	int32x4_t first = s[0], second = s[1];
	float32x4_t t;

	if (kern_has_halves(dtype))
		first = vmlaq_s32(vmulq_s32(first, c->sc[0]), second, c->sc[1]);
	else if (!kern_has_two_d(dtype))
		first = vaddq_s32(first, second);
	t = vmulq_f32(vmulq_f32(c->d, d), vcvtq_f32_s32(first));
	if (kern_has_min(dtype))
		t = vaddq_f32(t, vmulq_f32(c->m, x_float(x, KERN_Q8_E(k), b)));
	if (kern_has_minima(dtype)) {
		second = vmulq_s32(c->mn[0], x_int(x, KERN_Q8_H(k), 2 * b));
		second = vmlaq_s32(second, c->mn[1], x_int(x, KERN_Q8_H(k), 2 * b + 1));
		second = vnegq_s32(second);
	}
	if (kern_has_minima(dtype) || kern_has_two_d(dtype))
		t = vaddq_f32(t, vmulq_f32(vmulq_f32(c->m, d), vcvtq_f32_s32(second)));
	return t;
}

/* sum[i] += block b times row i of x, for i < n_col. */
INLINE void add_block(uint32_t dtype, const struct block4 *c, const void *const *x, uint32_t k,
		      size_t b, uint32_t n_col, float32x4_t sum[PASS])
{
	int32x4_t s[PASS][2];

	block_sums(c, x, b, n_col, s);
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = vaddq_f32(sum[i], terms(dtype, c, s[i], x[i], k, b));
}

/* Writes the first n of four floats. */
INLINE void store(float *y, float32x4_t v, uint32_t n)
{
	float f[FOUR];

	if (n >= FOUR) {
		vst1q_f32(y, v);
		return;
	}
	vst1q_f32(f, v);
	for (uint32_t i = 0; i < n; i++)
		y[i] = f[i];
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_BLOCK_NEON_H */
