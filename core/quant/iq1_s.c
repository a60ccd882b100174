/* SPDX-License-Identifier: MIT
 *
 * IQ1_S: 256 values in 8 groups of 32; x = d * (2 * scale + 1) * (grid point +- 1/8). */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/gridfit.h"
#include "core/quant/half.h"
#include "core/quant/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2];          /* f16 */
	uint8_t qs[N / 8];     /* low 8 bits of the point of values 8p .. 8p + 7 */
	uint8_t qh[N / 32][2]; /* u16: high bits of four points (3 each), 3 bits of scale, sign of
				* the shift */
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

LMI_ENCODER(iq1_s)
{
	static const struct lmi_gridshape shape = {
		.codes = lmi_iq_codes + LMI_GRID_IQ1_S,
		.n_codes = 2048,
		.cell = 8,
		.bits = 2,
		.level = {-1, 0, 1},
		.group = 32,
		.sign = LMI_SHIFT_GROUP,
		.n_scales = 8,
		.scale0 = 1,
		.step = 2,
	};
	struct block *b = dst;
	struct lmi_gridblock k;
	float x[N], w[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_fit_load(src, importance, i, x, w, N);
		lmi_gridfit(&shape, x, w, &k);
		lmi_put_f16(b->d, k.d);
		for (int g = 0; g < N / 32; g++) {
			uint16_t qh = (uint16_t)(k.s[g] << 12 | k.minus[4 * g] << 15);

			for (int l = 0; l < 4; l++) {
				b->qs[4 * g + l] = (uint8_t)k.point[4 * g + l];
				qh |= (uint16_t)(k.point[4 * g + l] >> 8 << 3 * l);
			}
			lmi_put_le16(b->qh[g], qh);
		}
	}
}
