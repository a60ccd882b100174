/* SPDX-License-Identifier: MIT
 *
 * Float kernels with NEON. */
#include <arm_neon.h>

#include "llamad/host.h"

#define W     4
#define ROWS  8
#define FEW   3
#define TABLE cpu_float_neon
#define LABEL "neon"
#define FLAGS LMD_CPU_NEON

static void f16_from(const float *x, uint16_t *y, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
	for (; i < n; i++)
		vst1_lane_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x[i]))), 0);
}

static inline float32x4_t load_f16(const uint16_t *p)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

static void f16_to(const uint16_t *x, float *y, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		vst1q_f32(y + i, load_f16(x + i));
	for (; i < n; i++)
		vst1q_lane_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x[i]))), 0);
}

/* Swaps neighbours. */
#define SWAP(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)

#include "kern/float_body.h"
