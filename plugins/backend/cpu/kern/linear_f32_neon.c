/* SPDX-License-Identifier: MIT
 *
 * Products in float with NEON.  A vector is two registers. */
#include <arm_neon.h>
#include <string.h>

#include "kern.h"

typedef float32x4x2_t vec;

static inline vec pair(float32x4_t low, float32x4_t high)
{
	return (vec){{low, high}};
}

static inline vec zero(void)
{
	return pair(vdupq_n_f32(0), vdupq_n_f32(0));
}

static inline vec multiply_add(vec a, vec b, vec c)
{
	return pair(vfmaq_f32(c.val[0], a.val[0], b.val[0]),
		    vfmaq_f32(c.val[1], a.val[1], b.val[1]));
}

static inline vec f32(const void *p)
{
	return pair(vld1q_f32(p), vld1q_f32((const float *)p + 4));
}

static inline vec f16(const void *p)
{
	uint16x8_t v = vld1q_u16(p);

	return pair(vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(v))),
		    vcvt_high_f32_f16(vreinterpretq_f16_u16(v)));
}

static inline vec bf16(const void *p)
{
	uint16x8_t v = vld1q_u16(p);

	return pair(vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16)),
		    vreinterpretq_f32_u32(vshll_high_n_u16(v, 16)));
}

static inline vec load_some_floats(const void *p, uint32_t n)
{
	float f[8] = {0};

	memcpy(f, p, n * sizeof(*f));
	return f32(f);
}

static inline void put(float *p, vec v)
{
	vst1q_f32(p, v.val[0]);
	vst1q_f32(p + 4, v.val[1]);
}

static inline float sum_lanes(vec v)
{
	return vaddvq_f32(vaddq_f32(v.val[0], v.val[1]));
}

#define W               8
#define TILE            2
#define ALONE           4
#define ZERO            zero()
#define FMA             multiply_add
#define LOAD(p)         f32((const void *)(p))
#define LOAD_F16(p)     f16((const void *)(p))
#define LOAD_BF16(p)    bf16((const void *)(p))
#define LOAD_SOME(p, n) load_some_floats(p, n)
#define STORE(p, v)     put(p, v)
#define SUM             sum_lanes
#define ISA             "neon"
#define FLAGS           LMD_CPU_NEON
#define TABLE           kern_float_neon
#include "linear_f32_body.h"
