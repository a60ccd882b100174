/* SPDX-License-Identifier: MIT
 *
 * IQ2_S: 256 values in 16 groups of 16; x = d * (scale + 1/2) / 4 * grid point, signed. */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/gridfit.h"
#include "core/quant/half.h"
#include "core/quant/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2];           /* f16 */
	uint8_t qs[N / 8];      /* low 8 bits of the point of values 8p .. 8p + 7 */
	uint8_t signs[N / 8];   /* one bit per value */
	uint8_t qh[N / 32];     /* bits 2l, 2l + 1: the high bits of point 4b + l */
	uint8_t scales[N / 32]; /* group 2i in the low, 2i + 1 in the high nibble */
};
_Static_assert(sizeof(struct block) == 82, "iq2_s block");

LMI_DECODER(iq2_s)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int p = 0; p < N / 8; p++) {
			int point = b->qs[p] | (b->qh[p / 4] >> 2 * (p % 4) & 3) << 8;
			uint16_t code = lmi_iq_codes[LMI_GRID_IQ2_S + point];
			int s = b->scales[p / 4] >> 4 * (p / 2 % 2) & 15;
			float dg = d * (0.5f + (float)s) * 0.25f;

			for (int j = 0; j < 8; j++) {
				float x = dg * (float)lmi_iq2_value(code, j);

				*dst++ = b->signs[p] >> j & 1 ? -x : x;
			}
		}
	}
}

LMI_ENCODER(iq2_s)
{
	static const struct lmi_gridshape shape = {
		.codes = lmi_iq_codes + LMI_GRID_IQ2_S,
		.n_codes = 1024,
		.cell = 8,
		.bits = 2,
		.level = {8, 25, 43},
		.group = 16,
		.sign = LMI_SIGN_FREE,
		.n_scales = 16,
		.scale0 = 0.125f,
		.step = 0.25f,
	};
	struct block *b = dst;
	struct lmi_gridblock k;
	float x[N], w[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_fit_load(src, importance, i, x, w, N);
		lmi_gridfit(&shape, x, w, &k);
		lmi_put_f16(b->d, k.d);
		memset(b->qh, 0, sizeof(b->qh));
		for (int p = 0; p < N / 8; p++) {
			b->qs[p] = (uint8_t)k.point[p];
			b->qh[p / 4] |= (uint8_t)(k.point[p] >> 8 << 2 * (p % 4));
			b->signs[p] = k.signs[p];
		}
		for (int g = 0; g < N / 32; g++)
			b->scales[g] = (uint8_t)(k.s[2 * g] | k.s[2 * g + 1] << 4);
	}
}
