/* SPDX-License-Identifier: MIT
 *
 * IQ1_S: 256 values in 8 groups of 32; x = d * (2 * scale + 1) * (grid point +- 1/8).
 *
 * Fields: f16 d; u8 qs[32]; u16 qh[8]
 * Value:  point 4b + l: qs + 256 ((qh[b] >> 3l) & 7); s = (qh >> 12) & 7; t = bit 15 ? -1/8 : 1/8;
 *         d * (2s + 1) * (grid + t) */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/quant_search/lattice_search.h"
#include "core/base/float16.h"
#include "core/quant_search/iq_grids.h"

#define N 256

struct block {
	uint8_t d[2];          /* f16 */
	uint8_t qs[N / 8];     /* low 8 bits of the point of values 8p .. 8p + 7 */
	uint8_t qh[N / 32][2]; /* u16: high bits of four points (3 each), 3 bits of scale, sign of
				* the shift */
};
_Static_assert(sizeof(struct block) == 50, "iq1_s block");

LMI_QUANT_DECODER(iq1_s)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int p = 0; p < N / 8; p++) {
			uint16_t qh = lmi_get_le16(b->qh[p / 4]);
			int point = b->qs[p] | (qh >> 3 * (p % 4) & 7) << 8;
			uint16_t code = lmi_search_iq_codes[LMI_SEARCH_LATTICE_IQ1_S + point];
			float dg = d * (float)(2 * (qh >> 12 & 7) + 1);
			float shift = qh & 0x8000 ? -0.125f : 0.125f;

			for (int j = 0; j < 8; j++)
				*dst++ = dg * ((float)lmi_search_iq1_value(code, j) + shift);
		}
	}
}

LMI_QUANT_ENCODER(iq1_s)
{
	static const struct lmi_search_lattice_shape shape = {
		.codes = lmi_search_iq_codes + LMI_SEARCH_LATTICE_IQ1_S,
		.n_codes = 2048,
		.cell = 8,
		.bits = 2,
		.level = {-1, 0, 1},
		.group = 32,
		.sign = LMI_SEARCH_SHIFT_GROUP,
		.n_scales = 8,
		.scale0 = 1,
		.step = 2,
	};
	struct block *b = dst;
	struct lmi_search_lattice_block k;
	float x[N], w[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_search_lattice(&shape, x, w, &k);
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

const struct lmi_dtype lmi_quant_iq1_s = {
	LMI_QUANT_NAMES(IQ1_S, iq1_s),
	.block_elems = 256,
	.block_bytes = 50,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {24, "IQ1_S", NULL, LMD_DTYPE_IQ1_S},
	.dequant = iq1_s_dequant,
	.quant = iq1_s_quant,
	.decode_hash = 0x408A820AADC59F25,
};
