/* SPDX-License-Identifier: MIT
 *
 * F8_E5M2 (arXiv 2209.05433): the upper byte of an F16, with its infinities and NaNs.  Appears only
 * in checkpoints. */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"

LMI_QUANT_DECODER(f8_e5m2)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_f16_to_f32((uint16_t)(p[i] << 8));
}

/* Rounds to nearest, ties to even; magnitudes of 61440 and above become infinite. */
LMI_QUANT_ENCODER(f8_e5m2)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++) {
		uint32_t bits = lmi_f32_bits(src[i]), mag = bits & 0x7FFFFFFFu, v;

		if (mag > 0x7F800000u)
			v = 0x7E;
		else if (mag >= 0x47700000u) /* 61440 */
			v = 0x7C;
		else if (mag < 0x38800000u) /* below 2^-14: a multiple of 2^-16 */
			v = mag >> 23 < 110 ? 0
					    : lmi_float16_shift_even((mag & 0x7FFFFFu) | 0x800000u,
								     134 - (mag >> 23));
		else
			v = lmi_float16_shift_even(mag - 0x38000000u, 21);
		p[i] = (uint8_t)(bits >> 24 & 0x80u) | (uint8_t)v;
	}
}

const struct lmi_dtype lmi_quant_f8_e5m2 = {
	LMI_QUANT_NAMES(F8_E5M2, f8_e5m2),
	.block_elems = 1,
	.block_bytes = 1,
	.dequant = f8_e5m2_dequant,
	.quant = f8_e5m2_quant,
};
