/* SPDX-License-Identifier: MIT
 *
 * F8_E4M3 (arXiv 2209.05433, the variant without infinities): sign, 4 bits of exponent with bias 7,
 * 3 bits of mantissa.  All ones is NaN; the greatest value is 448.  Appears in checkpoints and in KV
 * caches; every value is also an F16 value.
 *
 * A cache has no scale beside it: a row is complete as soon as it is written, so pages stay as easy
 * to append to, share and move as those of f16.  A scale for a head and page would have to be known
 * before the page is full.
 *
 * Fields: u8 q
 * Value:  1 bit sign, 4 bits exponent (bias 7), 3 bits mantissa */
#include <math.h>
#include <stdint.h>

#include "core/base/bytes.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"

static float value(uint8_t b)
{
	uint32_t sign = (uint32_t)(b & 0x80u) << 24, exp = b >> 3 & 15u, man = b & 7u;

	if (exp == 15 && man == 7)
		return lmi_bits_f32(sign | 0x7FC00000u);
	if (exp == 0) /* man * 2^-9, exact */
		return lmi_bits_f32(sign | lmi_f32_bits((float)man * 0x1p-9f));
	return lmi_bits_f32(sign | (exp + 120) << 23 | man << 20);
}

LMI_QUANT_DECODER(f8_e4m3)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = value(p[i]);
}

/* Rounds to nearest, ties to even; saturates at 448. */
LMI_QUANT_ENCODER(f8_e4m3)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++) {
		uint32_t bits = lmi_f32_bits(src[i]), mag = bits & 0x7FFFFFFFu, v;

		if (mag > 0x7F800000u)
			v = 0x7F;
		else if (mag >= 0x43E00000u) /* 448 */
			v = 0x7E;
		else if (mag < 0x3C800000u) /* below 2^-6: a multiple of 2^-9 */
			v = mag >> 23 < 117 ? 0
					    : lmi_float16_shift_even((mag & 0x7FFFFFu) | 0x800000u,
								     141 - (mag >> 23));
		else
			v = lmi_float16_shift_even(mag - 0x3C000000u, 20);
		p[i] = (uint8_t)(bits >> 24 & 0x80u) | (uint8_t)v;
	}
}

const struct lmi_dtype lmi_quant_f8_e4m3 = {
	LMI_QUANT_NAMES(F8_E4M3, f8_e4m3),
	.block_elems = 1,
	.block_bytes = 1,
	.is_activation = true,
	.for_cache = true,
	.dequant = f8_e4m3_dequant,
	.quant = f8_e4m3_quant,
	.decode_hash = 0x4C42DBF18B94A325,
};
