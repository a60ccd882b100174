/* SPDX-License-Identifier: MIT
 *
 * Float kernels for any processor. */
#include <string.h>

#include "llamad/host.h"

#define W     4
#define ROWS  4
#define FEW   2
#define TABLE cpu_float_c
#define LABEL "c"
#define FLAGS 0

#include <stdint.h>

/* Converts f16 to f32; exact. */
static float half_to(uint16_t h)
{
	uint32_t exp = h >> 10 & 31, man = h & 1023, bits;
	float v = (float)man * 0x1p-24f;

	if (exp) {
		bits = (exp == 31 ? 255u : exp + 112) << 23 | man << 13;
		memcpy(&v, &bits, sizeof(v));
	}
	return h & 0x8000 ? -v : v;
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
	return (half_vf){half_to(p[0]), half_to(p[1]), half_to(p[2]), half_to(p[3])};
}

/* Swaps neighbours. */
#define SWAP(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)

#include "kern/float_body.h"
