/* SPDX-License-Identifier: MIT
 *
 * Q8_K: 256 activations, one float scale, x = d * q, and the sums of the codes of each group of 16
 * for products with types that have minima.
 *
 * Fields: f32 d; i8 qs[256]; i16 bsums[16]
 * Value:  d * q; bsums: sums over 16 codes. d may be negative */
#include <math.h>
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 256

struct block {
	uint8_t d[4]; /* f32 */
	int8_t qs[N];
	uint8_t bsums[N / 16][2]; /* i16 */
};
_Static_assert(sizeof(struct block) == 292, "q8_k block");

LMI_QUANT_DECODER(q8_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_bits_f32(lmi_get_le32(b->d));

		for (int j = 0; j < N; j++)
			*dst++ = d * (float)b->qs[j];
	}
}

LMI_QUANT_ENCODER(q8_k)
{
	struct block *b = dst;
	float x[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b++) {
		float peak = 0, inv;

		lmi_search_fit_clean(src + i, x, N);
		for (int j = 0; j < N; j++)
			peak = fmaxf(peak, fabsf(x[j]));
		inv = peak >= 0x1p-119f ? 127 / peak : 0; /* below this, the inverse is not
							   * finite */
		for (int j = 0; j < N; j++)
			b->qs[j] = (int8_t)lmi_search_fit_round(x[j] * inv, -127, 127);
		lmi_put_le32(b->d, lmi_f32_bits(inv > 0 ? peak / 127 : 0));
		for (int g = 0; g < N / 16; g++) {
			int sum = 0;

			for (int j = 0; j < 16; j++)
				sum += b->qs[16 * g + j];
			lmi_put_le16(b->bsums[g], (uint16_t)sum);
		}
	}
}

const struct lmi_dtype lmi_quant_q8_k = {
	LMI_QUANT_NAMES(Q8_K, q8_k),
	.block_elems = 256,
	.block_bytes = 292,
	.is_activation = true,
	.dequant = q8_k_dequant,
	.quant = q8_k_quant,
	.decode_hash = 0xF02A1D1E15ADE5C1,
};
