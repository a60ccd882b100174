/* SPDX-License-Identifier: MIT
 *
 * kscale.h - eight pairs of 6-bit scale and minimum, packed in 12 bytes by Q4_K and Q5_K.
 *
 * Byte j < 4 holds scale j in its low 6 bits, byte j + 4 holds minimum j.  For j >= 4, the low
 * nibbles of scale and minimum j share byte j + 4; their two high bits are the top bits of bytes j
 * - 4 and j. */
#ifndef LLAMAD_CORE_QUANT_KSCALE_H
#define LLAMAD_CORE_QUANT_KSCALE_H

#include <stdint.h>

static inline void lmi_kscale_get(const uint8_t s[12], int j, uint8_t *scale, uint8_t *min)
{
	if (j < 4) {
		*scale = s[j] & 63;
		*min = s[j + 4] & 63;
	} else {
		*scale = (uint8_t)((s[j + 4] & 15) | s[j - 4] >> 6 << 4);
		*min = (uint8_t)(s[j + 4] >> 4 | s[j] >> 6 << 4);
	}
}

/* The inverse, for all eight pairs; values are 0..63. */
static inline void lmi_kscale_put(uint8_t s[12], const int16_t scale[8], const int16_t min[8])
{
	for (int j = 0; j < 4; j++) {
		s[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
		s[j + 4] = (uint8_t)(min[j] | min[j + 4] >> 4 << 6);
		s[j + 8] = (uint8_t)((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
	}
}

#endif /* LLAMAD_CORE_QUANT_KSCALE_H */
