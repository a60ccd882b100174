/* SPDX-License-Identifier: MIT
 *
 * IQ3_S: 256 values in 8 groups of 32; x = d * (2 * scale + 1) * grid point, signed.
 *
 * Fields: f16 d; u8 qs[64]; u8 qh[8]; u8 signs[32]; u8 scales[4]
 * Value:  point p: qs[p] + 256 (bit p % 8 of qh[p / 8]); s = nibble b % 2 of scales[b / 2]; d *
 *         (2s + 1) * grid */
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
	uint8_t qs[N / 4];      /* low 8 bits of the point of values 4p .. 4p + 3 */
	uint8_t qh[N / 32];     /* bit p % 8 of qh[p / 8]: the ninth bit of point p */
	uint8_t signs[N / 8];   /* one bit per value */
	uint8_t scales[N / 64]; /* group 2i in the low, 2i + 1 in the high nibble */
};
_Static_assert(sizeof(struct block) == 110, "iq3_s block");

LMI_QUANT_DECODER(iq3_s)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int p = 0; p < N / 4; p++) {
			int point = b->qs[p] | (b->qh[p / 8] >> p % 8 & 1) << 8;
			uint16_t code = lmi_search_iq_codes[LMI_SEARCH_LATTICE_IQ3_S + point];
			int s = b->scales[p / 16] >> 4 * (p / 8 % 2) & 15;
			float dg = d * (float)(2 * s + 1);

			for (int j = 0; j < 4; j++) {
				float x = dg * (float)lmi_search_iq3_s_value(code, j);

				*dst++ = b->signs[p / 2] >> (4 * (p % 2) + j) & 1 ? -x : x;
			}
		}
	}
}

LMI_QUANT_ENCODER(iq3_s)
{
	static const struct lmi_search_lattice_shape shape = {
		.codes = lmi_search_iq_codes + LMI_SEARCH_LATTICE_IQ3_S,
		.n_codes = 512,
		.cell = 4,
		.bits = 3,
		.level = {1, 3, 5, 7, 9, 11, 13, 15},
		.group = 32,
		.sign = LMI_SEARCH_SIGN_FREE,
		.n_scales = 16,
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
		memset(b->qh, 0, sizeof(b->qh));
		for (int p = 0; p < N / 4; p++) {
			b->qs[p] = (uint8_t)k.point[p];
			b->qh[p / 8] |= (uint8_t)(k.point[p] >> 8 << p % 8);
		}
		memcpy(b->signs, k.signs, sizeof(b->signs));
		for (int g = 0; g < N / 64; g++)
			b->scales[g] = (uint8_t)(k.s[2 * g] | k.s[2 * g + 1] << 4);
	}
}

const struct lmi_dtype lmi_quant_iq3_s = {
	LMI_QUANT_NAMES(IQ3_S, iq3_s),
	.block_elems = 256,
	.block_bytes = 110,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.swappable = true,
	.file_type = {26, "IQ3_S", NULL, LMD_DTYPE_IQ3_S},
	.dequant = iq3_s_dequant,
	.quant = iq3_s_quant,
	.decode_hash = 0xACE702F07F0D6E25,
};
