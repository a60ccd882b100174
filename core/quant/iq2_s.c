/* SPDX-License-Identifier: MIT
 *
 * IQ2_S: 256 values in 16 groups of 16; x = d * (scale + 1/2) / 4 * grid point, signed.
 *
 * Fields: f16 d; u8 qs[32]; u8 signs[32]; u8 qh[8]; u8 scales[8]
 * Value:  point 4b + l: qs + 256 ((qh[b] >> 2l) & 3); a bit of signs for each value; scale as
 *         iq2_xs */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/quant_search/lattice_search.h"
#include "core/base/float16.h"
#include "core/quant_search/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2];           /* f16 */
	uint8_t qs[N / 8];      /* low 8 bits of the point of values 8p .. 8p + 7 */
	uint8_t signs[N / 8];   /* one bit per value */
	uint8_t qh[N / 32];     /* bits 2l, 2l + 1: the high bits of point 4b + l */
	uint8_t scales[N / 32]; /* group 2i in the low, 2i + 1 in the high nibble */
};
_Static_assert(sizeof(struct block) == 82, "iq2_s block");

LMI_QUANT_DECODER(iq2_s)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int p = 0; p < N / 8; p++) {
			int point = b->qs[p] | (b->qh[p / 4] >> 2 * (p % 4) & 3) << 8;
			uint16_t code = lmi_search_iq_codes[LMI_SEARCH_LATTICE_IQ2_S + point];
			int s = b->scales[p / 4] >> 4 * (p / 2 % 2) & 15;
			float dg = d * (0.5f + (float)s) * 0.25f;

			for (int j = 0; j < 8; j++) {
				float x = dg * (float)lmi_search_iq2_value(code, j);

				*dst++ = b->signs[p] >> j & 1 ? -x : x;
			}
		}
	}
}

LMI_QUANT_ENCODER(iq2_s)
{
	static const struct lmi_search_lattice_shape shape = {
		.codes = lmi_search_iq_codes + LMI_SEARCH_LATTICE_IQ2_S,
		.n_codes = 1024,
		.cell = 8,
		.bits = 2,
		.level = {8, 25, 43},
		.group = 16,
		.sign = LMI_SEARCH_SIGN_FREE,
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

const struct lmi_dtype lmi_quant_iq2_s = {
	LMI_QUANT_NAMES(IQ2_S, iq2_s),
	.block_elems = 256,
	.block_bytes = 82,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.swappable = true,
	.dequant = iq2_s_dequant,
	.quant = iq2_s_quant,
	.decode_hash = 0xFFDECF704D207D95,
};
