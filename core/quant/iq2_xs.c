/* SPDX-License-Identifier: MIT
 *
 * IQ2_XS: 256 values in 16 groups of 16; x = d * (scale + 1/2) / 4 * grid point, signed.
 *
 * Fields: f16 d; u16 qs[32]; u8 scales[8]
 * Value:  point q & 511, sign index q >> 9; s = lo(scales[b]) for the first two points of group b,
 *         hi for the others; d * (s + 1/2) / 4 * grid */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/quant_search/lattice_search.h"
#include "core/base/float16.h"
#include "core/quant_search/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2];           /* f16 */
	uint8_t qs[N / 8][2];   /* u16: point in the low 9 bits, sign index in the high 7 */
	uint8_t scales[N / 32]; /* group 2i in the low, 2i + 1 in the high nibble */
};
_Static_assert(sizeof(struct block) == 74, "iq2_xs block");

LMI_QUANT_DECODER(iq2_xs)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int p = 0; p < N / 8; p++) {
			uint16_t q = lmi_get_le16(b->qs[p]);
			uint16_t code = lmi_search_iq_codes[LMI_SEARCH_LATTICE_IQ2_XS + (q & 511)];
			uint8_t signs = lmi_search_iq_signs(q >> 9);
			int s = b->scales[p / 4] >> 4 * (p / 2 % 2) & 15;
			float dg = d * (0.5f + (float)s) * 0.25f;

			for (int j = 0; j < 8; j++) {
				float x = dg * (float)lmi_search_iq2_value(code, j);

				*dst++ = signs >> j & 1 ? -x : x;
			}
		}
	}
}

LMI_QUANT_ENCODER(iq2_xs)
{
	static const struct lmi_search_lattice_shape shape = {
		.codes = lmi_search_iq_codes + LMI_SEARCH_LATTICE_IQ2_XS,
		.n_codes = 512,
		.cell = 8,
		.bits = 2,
		.level = {8, 25, 43},
		.group = 16,
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
		for (int p = 0; p < N / 8; p++)
			lmi_put_le16(b->qs[p], (uint16_t)(k.point[p] | (k.signs[p] & 127) << 9));
		for (int g = 0; g < N / 32; g++)
			b->scales[g] = (uint8_t)(k.s[2 * g] | k.s[2 * g + 1] << 4);
	}
}

const struct lmi_dtype lmi_quant_iq2_xs = {
	LMI_QUANT_NAMES(IQ2_XS, iq2_xs),
	.block_elems = 256,
	.block_bytes = 74,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {20, "IQ2_XS", NULL, LMD_DTYPE_IQ2_XS},
	.dequant = iq2_xs_dequant,
	.quant = iq2_xs_quant,
	.decode_hash = 0xF8BC859B2DF0C2AD,
};
