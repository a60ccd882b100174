/* SPDX-License-Identifier: MIT
 *
 * float_half.h - 16-bit floats without instructions for them; a part of tables whose vectors have W
 * floats. */
#ifndef LLAMAD_CPU_KERN_FLOAT_HALF_H
#define LLAMAD_CPU_KERN_FLOAT_HALF_H

#include <stdint.h>
#include <string.h>

/* Converts f16 to f32; exact: the exponent is moved by a product with a power of two, which also makes
 * numbers below the smallest normal f16 normal. */
static inline float half_to(uint16_t h)
{
	union {
		uint32_t u;
		float f;
	} v = {.u = (uint32_t)(h & 0x7fff) << 13};

	v.f *= 0x1p112f;
	v.u |= (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
	v.u |= (uint32_t)(h & 0x8000) << 16;
	return v.f;
}

/* Converts f32 to f16, rounding to nearest even by additions: a value below the smallest normal f16
 * is added to 0.5 (whose last bit is 2^-24), any other value gets half of its last kept bit. */
static uint16_t half_from(float x)
{
	uint32_t u, sign;

	memcpy(&u, &x, sizeof(u));
	sign = u >> 16 & 0x8000;
	u &= 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (u >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);
	if (u < 0x38800000) {
		float v;

		memcpy(&v, &u, sizeof(v));
		v += 0.5f;
		memcpy(&u, &v, sizeof(u));
		return (uint16_t)(sign | (u - 0x3f000000));
	}
	u += 0xfff + (u >> 13 & 1);
	return (uint16_t)(sign | ((u - 0x38000000) >> 13));
}

static void f16_from(const float *x, uint16_t *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = half_from(x[i]);
}

static void f16_to(const uint16_t *x, float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = half_to(x[i]);
}

typedef float half_vf __attribute__((vector_size(4 * W), aligned(4), may_alias));

static inline half_vf load_f16(const uint16_t *p)
{
	half_vf v;
	float t[W];

	for (int i = 0; i < W; i++)
		t[i] = half_to(p[i]);
	memcpy(&v, t, sizeof(v));
	return v;
}

#endif /* LLAMAD_CPU_KERN_FLOAT_HALF_H */
