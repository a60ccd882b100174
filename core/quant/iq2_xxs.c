/* SPDX-License-Identifier: MIT
 *
 * IQ2_XXS: 256 values in 8 groups of 32; x = d * (scale + 1/2) / 4 * grid point, signed.
 *
 * Fields: f16 d; 8 of: u8 point[4], u32 v
 * Value:  group of 32, l < 4: signs of index (v >> 7l) & 127, s = v >> 28; d * (s + 1/2) / 4 *
 *         grid[point[l]] */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/quant_search/lattice_search.h"
#include "core/base/float16.h"
#include "core/quant_search/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2]; /* f16 */
	struct {
		uint8_t point[4]; /* points of values 8l .. 8l + 7 */
		uint8_t sas[4];   /* u32: four sign indices of 7 bits, scale in the top 4 bits */
	} group[N / 32];
};
_Static_assert(sizeof(struct block) == 66, "iq2_xxs block");

LMI_QUANT_DECODER(iq2_xxs)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int g = 0; g < N / 32; g++) {
			uint32_t v = lmi_get_le32(b->group[g].sas);
			float dg = d * (0.5f + (float)(v >> 28)) * 0.25f;

			for (int l = 0; l < 4; l++) {
				uint16_t code = lmi_search_iq_codes[LMI_SEARCH_LATTICE_IQ2_XXS +
								    b->group[g].point[l]];
				uint8_t signs = lmi_search_iq_signs(v >> 7 * l & 127);

				for (int j = 0; j < 8; j++) {
					float x = dg * (float)lmi_search_iq2_value(code, j);

					*dst++ = signs >> j & 1 ? -x : x;
				}
			}
		}
	}
}

LMI_QUANT_ENCODER(iq2_xxs)
{
	static const struct lmi_search_lattice_shape shape = {
		.codes = lmi_search_iq_codes + LMI_SEARCH_LATTICE_IQ2_XXS,
		.n_codes = 256,
		.cell = 8,
		.bits = 2,
		.level = {8, 25, 43},
		.group = 32,
		.sign = LMI_SEARCH_SIGN_EVEN,
		.n_scales = 16,
		.scale0 = 0.125f,
		.step = 0.25f,
	};
	struct block *b = dst;
	struct lmi_search_lattice_block k;
	float x[N], w[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_search_lattice(&shape, x, w, &k);
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

const struct lmi_dtype lmi_quant_iq2_xxs = {
	LMI_QUANT_NAMES(IQ2_XXS, iq2_xxs),
	.block_elems = 256,
	.block_bytes = 66,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {19, "IQ2_XXS", NULL, LMD_DTYPE_IQ2_XXS},
	.dequant = iq2_xxs_dequant,
	.quant = iq2_xxs_quant,
	.decode_hash = 0x014E41BAA5978E79,
};
