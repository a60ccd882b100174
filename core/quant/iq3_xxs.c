/* SPDX-License-Identifier: MIT
 *
 * IQ3_XXS: 256 values in 8 groups of 32; x = d * (scale + 1/2) / 2 * grid point, signed.
 *
 * Fields: f16 d; u8 qs[64]; u32 v[8]
 * Value:  points of 4 values, two for each sign index; s = v >> 28; d * (s + 1/2) / 2 * grid */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/quant_search/lattice_search.h"
#include "core/base/float16.h"
#include "core/quant_search/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2];           /* f16 */
	uint8_t qs[N / 4];      /* point of values 4p .. 4p + 3 */
	uint8_t sas[N / 32][4]; /* u32: four sign indices of 7 bits, scale in the top 4 bits */
};
_Static_assert(sizeof(struct block) == 98, "iq3_xxs block");

LMI_QUANT_DECODER(iq3_xxs)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int p = 0; p < N / 4; p++) {
			uint32_t v = lmi_get_le32(b->sas[p / 8]);
			uint16_t code = lmi_search_iq_codes[LMI_SEARCH_LATTICE_IQ3_XXS + b->qs[p]];
			uint8_t signs = lmi_search_iq_signs(v >> 7 * (p / 2 % 4) & 127);
			float dg = d * (0.5f + (float)(v >> 28)) * 0.5f;

			for (int j = 0; j < 4; j++) {
				float x = dg * (float)lmi_search_iq3_xxs_value(code, j);

				*dst++ = signs >> (4 * (p % 2) + j) & 1 ? -x : x;
			}
		}
	}
}

LMI_QUANT_ENCODER(iq3_xxs)
{
	static const struct lmi_search_lattice_shape shape = {
		.codes = lmi_search_iq_codes + LMI_SEARCH_LATTICE_IQ3_XXS,
		.n_codes = 256,
		.cell = 4,
		.bits = 3,
		.level = {4, 12, 20, 28, 36, 44, 52, 62},
		.group = 32,
		.sign = LMI_SEARCH_SIGN_EVEN,
		.n_scales = 16,
		.scale0 = 0.25f,
		.step = 0.5f,
	};
	struct block *b = dst;
	struct lmi_search_lattice_block k;
	float x[N], w[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_search_lattice(&shape, x, w, &k);
		lmi_put_f16(b->d, k.d);
		for (int p = 0; p < N / 4; p++)
			b->qs[p] = (uint8_t)k.point[p];
		for (int g = 0; g < N / 32; g++) {
			uint32_t v = (uint32_t)k.s[g] << 28;

			for (int l = 0; l < 4; l++)
				v |= (uint32_t)(k.signs[4 * g + l] & 127) << 7 * l;
			lmi_put_le32(b->sas[g], v);
		}
	}
}

const struct lmi_dtype lmi_quant_iq3_xxs = {
	LMI_QUANT_NAMES(IQ3_XXS, iq3_xxs),
	.block_elems = 256,
	.block_bytes = 98,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {23, "IQ3_XXS", NULL, LMD_DTYPE_IQ3_XXS},
	.dequant = iq3_xxs_dequant,
	.quant = iq3_xxs_quant,
	.decode_hash = 0xECD1AE11EFB3B1E5,
};
