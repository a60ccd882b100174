/* SPDX-License-Identifier: MIT
 *
 * IQ2_XXS: 256 values in 8 groups of 32; x = d * (scale + 1/2) / 4 * grid point, signed. */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/gridfit.h"
#include "core/quant/half.h"
#include "core/quant/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2]; /* f16 */
	struct {
		uint8_t point[4]; /* points of values 8l .. 8l + 7 */
		uint8_t sas[4];   /* u32: four sign indices of 7 bits, scale in the top 4 bits */
	} group[N / 32];
};
_Static_assert(sizeof(struct block) == 66, "iq2_xxs block");

LMI_DECODER(iq2_xxs)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int g = 0; g < N / 32; g++) {
			uint32_t v = lmi_get_le32(b->group[g].sas);
			float dg = d * (0.5f + (float)(v >> 28)) * 0.25f;

			for (int l = 0; l < 4; l++) {
				uint16_t code =
					lmi_iq_codes[LMI_GRID_IQ2_XXS + b->group[g].point[l]];
				uint8_t signs = lmi_iq_signs(v >> 7 * l & 127);

				for (int j = 0; j < 8; j++) {
					float x = dg * (float)lmi_iq2_value(code, j);

					*dst++ = signs >> j & 1 ? -x : x;
				}
			}
		}
	}
}

LMI_ENCODER(iq2_xxs)
{
	static const struct lmi_gridshape shape = {
		.codes = lmi_iq_codes + LMI_GRID_IQ2_XXS,
		.n_codes = 256,
		.cell = 8,
		.bits = 2,
		.level = {8, 25, 43},
		.group = 32,
		.sign = LMI_SIGN_EVEN,
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
		for (int g = 0; g < N / 32; g++) {
			uint32_t v = (uint32_t)k.s[g] << 28;

			for (int l = 0; l < 4; l++) {
				b->group[g].point[l] = (uint8_t)k.point[4 * g + l];
				v |= (uint32_t)(k.signs[4 * g + l] & 127) << 7 * l;
			}
			lmi_put_le32(b->group[g].sas, v);
		}
	}
}
