/* SPDX-License-Identifier: MIT
 *
 * IQ1_S: 256 values in 8 groups of 32; x = d * (2 * scale + 1) * (grid point +- 1/8). */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/half.h"
#include "core/quant/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2];          /* f16 */
	uint8_t qs[N / 8];     /* low 8 bits of the point of values 8p .. 8p + 7 */
	uint8_t qh[N / 32][2]; /* u16: four times 3 high bits, 3 bits of scale, sign of the shift */
};
_Static_assert(sizeof(struct block) == 50, "iq1_s block");

LMI_DECODER(iq1_s)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int p = 0; p < N / 8; p++) {
			uint16_t qh = lmi_get_le16(b->qh[p / 4]);
			int point = b->qs[p] | (qh >> 3 * (p % 4) & 7) << 8;
			uint16_t code = lmi_iq_codes[LMI_GRID_IQ1_S + point];
			float dg = d * (float)(2 * (qh >> 12 & 7) + 1);
			float shift = qh & 0x8000 ? -0.125f : 0.125f;

			for (int j = 0; j < 8; j++)
				*dst++ = dg * ((float)lmi_iq1_value(code, j) + shift);
		}
	}
}
