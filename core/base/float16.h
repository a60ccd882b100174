/* SPDX-License-Identifier: MIT
 *
 * float16.h - 16-bit floats: exact widening; narrowing to nearest, ties to even.
 *
 * Integer arithmetic only, so every machine gives the same bits.  A NaN becomes a quiet NaN of the
 * same sign.  F16: magnitudes of 65520 and above become infinite. */
#ifndef LLAMAD_CORE_BASE_FLOAT16_H
#define LLAMAD_CORE_BASE_FLOAT16_H

#include <stdint.h>

#include "core/base/bytes.h"

static inline float lmi_f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = h >> 10 & 31u, man = h & 0x3FFu;

	if (exp == 31)
		return lmi_bits_f32(sign | 0x7F800000u | man << 13 | (man ? 0x400000u : 0));
	if (exp == 0) /* man * 2^-24, exact */
		return lmi_bits_f32(sign | lmi_f32_bits((float)man * 0x1p-24f));
	return lmi_bits_f32(sign | (exp + 112) << 23 | man << 13);
}

/* Returns v / 2^shift rounded to nearest, ties to even; shift is 1..24. */
static inline uint32_t lmi_float16_shift_even(uint32_t v, uint32_t shift)
{
	uint32_t r = v >> shift, rest = v & ((1u << shift) - 1), half = 1u << (shift - 1);

	return r + (rest > half || (rest == half && (r & 1)));
}

static inline uint16_t lmi_f32_to_f16(float f)
{
	uint32_t bits = lmi_f32_bits(f), sign = bits >> 16 & 0x8000u, mag = bits & 0x7FFFFFFFu;

	if (mag > 0x7F800000u)
		return (uint16_t)(sign | 0x7E00u | (mag >> 13 & 0x1FFu));
	if (mag >= 0x477FF000u)
		return (uint16_t)(sign | 0x7C00u);
	if (mag < 0x38800000u) { /* below 2^-14: a multiple of 2^-24 */
		uint32_t shift = 126 - (mag >> 23);

		if (shift > 24)
			return (uint16_t)sign;
		return (uint16_t)(sign |
				  lmi_float16_shift_even((mag & 0x7FFFFFu) | 0x800000u, shift));
	}
	return (uint16_t)(sign | lmi_float16_shift_even(mag - 0x38000000u, 13));
}

static inline float lmi_bf16_to_f32(uint16_t b)
{
	return lmi_bits_f32((uint32_t)b << 16);
}

static inline uint16_t lmi_f32_to_bf16(float f)
{
	uint32_t bits = lmi_f32_bits(f);

	if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
		return (uint16_t)(bits >> 16 | 0x40u);
	return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

/* F16 values stored as two bytes in memory, little-endian. */
static inline float lmi_get_f16(const void *p)
{
	return lmi_f16_to_f32(lmi_get_le16(p));
}

static inline void lmi_put_f16(void *p, float f)
{
	lmi_put_le16(p, lmi_f32_to_f16(f));
}

#endif /* LLAMAD_CORE_BASE_FLOAT16_H */
