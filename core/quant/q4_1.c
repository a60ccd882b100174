/* SPDX-License-Identifier: MIT
 *
 * Q4_1: 32 values, scale and minimum, x = q * d + m.
 *
 * Fields: f16 d, m; u8 qs[16]
 * Value:  q * d + m */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 32

struct block {
	uint8_t d[2], m[2]; /* f16 */
	uint8_t qs[N / 2];  /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 20, "q4_1 block");

LMI_QUANT_DECODER(q4_1)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d), m = lmi_get_f16(b->m);

		for (int j = 0; j < N / 2; j++) {
			dst[j] = (float)(b->qs[j] & 15) * d + m;
			dst[j + N / 2] = (float)(b->qs[j] >> 4) * d + m;
		}
	}
}

LMI_QUANT_ENCODER(q4_1)
{
	struct block *b = dst;
	float x[N], w[N], d, m;
	uint8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_search_fit_affine(x, w, N, 15, &d, &m, q);
		lmi_put_f16(b->d, d);
		lmi_put_f16(b->m, m);
		for (int j = 0; j < N / 2; j++)
			b->qs[j] = (uint8_t)(q[j] | q[j + N / 2] << 4);
	}
}

LMI_QUANT_NEAREST(q4_1)
{
	uint8_t *b = dst, q[N];
	float d, m;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 20) {
		lmi_quant_round_ranged(src + i, 15, q, &d, &m);
		lmi_put_f16(b, lmi_search_fit_f16(d));
		lmi_put_f16(b + 2, lmi_search_fit_f16(m));
		lmi_quant_put_nibbles(b + 4, q);
	}
}

const struct lmi_dtype lmi_quant_q4_1 = {
	LMI_QUANT_NAMES(Q4_1, q4_1),
	.block_elems = 32,
	.block_bytes = 20,
	.is_quant = true,
	.n_f16 = 2,
	.f16_at = {0, 2},
	.swappable = true,
	.file_type = {3, "Q4_1", NULL, LMD_DTYPE_Q4_1},
	.dequant = q4_1_dequant,
	.quant = q4_1_quant,
	.quant_nearest = q4_1_nearest,
	.decode_hash = 0x579EE92F8E11ECA1,
};
