/* SPDX-License-Identifier: MIT
 *
 * Rounds activations to 8 or 16 bits with NEON; gives the same bytes as act_c.c, also for NaN and
 * infinity: FMINNM and FMAXNM return the number if one operand is NaN. */
#include <arm_neon.h>
#include <string.h>

#include "variants.h"

static inline float32x4_t rounded(float32x4_t x, float32x4_t inv)
{
	float32x4_t v = vrndnq_f32(vmulq_f32(x, inv));

	return vmaxnmq_f32(vdupq_n_f32(-127), vminnmq_f32(vdupq_n_f32(127), v));
}

static inline void put_float(char *p, float v)
{
	memcpy(p, &v, sizeof(v));
}

/* Rounds block b of a row of k values and leaves in x what that leaves out. */
static inline void block(float32x4_t x[8], char *base, uint32_t k, size_t b)
{
	float32x4_t top = vdupq_n_f32(0), inv;
	int8_t *q = (int8_t *)base + 32 * b;
	int32_t half[2], n;
	float amax, d;

#pragma GCC unroll 8
	for (int j = 0; j < 8; j++)
		top = vmaxnmq_f32(top, vabsq_f32(x[j]));
	amax = vmaxnmvq_f32(top);
	d = amax / 127.0f;
	inv = vdupq_n_f32(amax > 0 ? 127.0f / amax : 0.0f);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		int16x4_t w[4];
		int8x16_t v;

#pragma GCC unroll 4
		for (int j = 0; j < 4; j++) {
			float32x4_t t = rounded(x[4 * h + j], inv);

			w[j] = vmovn_s32(vcvtq_s32_f32(t));
			x[4 * h + j] = vsubq_f32(x[4 * h + j], vmulq_f32(vdupq_n_f32(d), t));
		}
		v = vcombine_s8(vmovn_s16(vcombine_s16(w[0], w[1])),
				vmovn_s16(vcombine_s16(w[2], w[3])));
		vst1q_s8(q + 16 * h, v);
		half[h] = -vaddlvq_s8(v);
	}
	n = half[0] + half[1];
	put_float(base + KERN_Q8_D(k) + 4 * b, d);
	put_float(base + KERN_Q8_E(k) + 4 * b, d * (float)-n);
	memcpy(base + KERN_Q8_N(k) + 4 * b, &n, sizeof(n));
	memcpy(base + KERN_Q8_H(k) + 8 * b, half, sizeof(half));
}

static void row(const float *x, uint32_t k, uint32_t n_q8, void *out)
{
	for (uint32_t b = 0; b < k / 32; b++, x += 32) {
		float32x4_t v[8];

#pragma GCC unroll 8
		for (int j = 0; j < 8; j++)
			v[j] = vld1q_f32(x + 4 * j);
		for (uint32_t i = 0; i < n_q8; i++)
			block(v, (char *)out + i * KERN_Q8_BYTES(k), k, b);
	}
}

const struct kern_act kern_act_neon = {.flags = LMD_CPU_NEON, .isa = "neon", .row = row};
