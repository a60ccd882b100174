/* SPDX-License-Identifier: MIT
 *
 * IQ1_M: 256 values in 16 groups of 16; x = d * (2 * scale + 1) * (grid point +- 1/8).
 *
 * Fields: u8 qs[32]; u8 qh[16]; u16 sc[4]
 * Value:  d: the top nibbles of sc, the first lowest, as f16; group g of 16: s = (sc[g / 4] >> 3(g
 *         % 4)) & 7; n = nibble p % 2 of qh[p / 2]: point qs[p] + 256 (n & 7), t = n & 8 ? -1/8 :
 *         1/8; value as iq1_s */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/quant_search/lattice_search.h"
#include "core/base/float16.h"
#include "core/quant_search/iq_grids.h"

#define N 256

/* The f16 scale of the block lies in the top nibbles of the four scale words, the lowest
 * nibble in the first word. */
struct block {
	uint8_t qs[N / 8];         /* low 8 bits of the point of values 8p .. 8p + 7 */
	uint8_t qh[N / 16];        /* nibble p % 2 of byte p / 2: 3 high bits, sign of the shift */
	uint8_t scales[N / 64][2]; /* u16: four scales of 3 bits */
};
_Static_assert(sizeof(struct block) == 56, "iq1_m block");

LMI_QUANT_DECODER(iq1_m)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		uint16_t bits = 0;
		float d;

		for (int k = 0; k < 4; k++)
			bits |= (uint16_t)(lmi_get_le16(b->scales[k]) >> 12 << 4 * k);
		d = lmi_f16_to_f32(bits);
		for (int p = 0; p < N / 8; p++) {
			int nibble = b->qh[p / 2] >> 4 * (p % 2) & 15, g = p / 2;
			uint16_t code = lmi_search_iq_codes[LMI_SEARCH_LATTICE_IQ1_S +
							    (b->qs[p] | (nibble & 7) << 8)];
			int s = lmi_get_le16(b->scales[g / 4]) >> 3 * (g % 4) & 7;
			float dg = d * (float)(2 * s + 1), shift = nibble & 8 ? -0.125f : 0.125f;

			for (int j = 0; j < 8; j++)
				*dst++ = dg * ((float)lmi_search_iq1_value(code, j) + shift);
		}
	}
}

LMI_QUANT_ENCODER(iq1_m)
{
	static const struct lmi_search_lattice_shape shape = {
		.codes = lmi_search_iq_codes + LMI_SEARCH_LATTICE_IQ1_S,
		.n_codes = 2048,
		.cell = 8,
		.bits = 2,
		.level = {-1, 0, 1},
		.group = 16,
		.sign = LMI_SEARCH_SHIFT_CELL,
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
		memset(b->qh, 0, sizeof(b->qh));
		for (int p = 0; p < N / 8; p++) {
			b->qs[p] = (uint8_t)k.point[p];
			b->qh[p / 2] |=
				(uint8_t)((k.point[p] >> 8 | k.minus[p] << 3) << 4 * (p % 2));
		}
		for (int q = 0; q < N / 64; q++) {
			uint16_t v = (uint16_t)((lmi_f32_to_f16(k.d) >> 4 * q & 15) << 12);

			for (int l = 0; l < 4; l++)
				v |= (uint16_t)(k.s[4 * q + l] << 3 * l);
			lmi_put_le16(b->scales[q], v);
		}
	}
}

const struct lmi_dtype lmi_quant_iq1_m = {
	LMI_QUANT_NAMES(IQ1_M, iq1_m),
	.block_elems = 256,
	.block_bytes = 56,
	.is_quant = true,
	.file_type = {31, "IQ1_M", NULL, LMD_DTYPE_IQ1_M},
	.dequant = iq1_m_dequant,
	.quant = iq1_m_quant,
	.decode_hash = 0x2A3297262998E6E5,
};
