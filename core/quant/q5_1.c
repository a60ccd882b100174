/* SPDX-License-Identifier: MIT
 *
 * Q5_1: 32 values, scale and minimum, x = q * d + m.
 *
 * Fields: f16 d, m; u32 qh; u8 qs[16]
 * Value:  q * d + m */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 32

struct block {
	uint8_t d[2], m[2]; /* f16 */
	uint8_t qh[4];      /* bit j is the fifth bit of value j */
	uint8_t qs[N / 2];  /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 24, "q5_1 block");

LMI_QUANT_DECODER(q5_1)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d), m = lmi_get_f16(b->m);
		uint32_t qh = lmi_get_le32(b->qh);

		for (int j = 0; j < N / 2; j++) {
			uint32_t lo = (b->qs[j] & 15u) | (qh >> j & 1) << 4;
			uint32_t hi = b->qs[j] >> 4 | (qh >> (j + N / 2) & 1) << 4;

			dst[j] = (float)lo * d + m;
			dst[j + N / 2] = (float)hi * d + m;
		}
	}
}

LMI_QUANT_ENCODER(q5_1)
{
	struct block *b = dst;
	float x[N], w[N], d, m;
	uint8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		uint32_t qh = 0;

		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_search_fit_affine(x, w, N, 31, &d, &m, q);
		lmi_put_f16(b->d, d);
		lmi_put_f16(b->m, m);
		for (int j = 0; j < N; j++)
			qh |= (uint32_t)q[j] >> 4 << j;
		lmi_put_le32(b->qh, qh);
		for (int j = 0; j < N / 2; j++)
			b->qs[j] = (uint8_t)((q[j] & 15) | (q[j + N / 2] & 15) << 4);
	}
}

LMI_QUANT_NEAREST(q5_1)
{
	uint8_t *b = dst, q[N];
	float d, m;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 24) {
		lmi_quant_round_ranged(src + i, 31, q, &d, &m);
		lmi_put_f16(b, lmi_search_fit_f16(d));
		lmi_put_f16(b + 2, lmi_search_fit_f16(m));
		lmi_quant_put_fifth(b + 4, q);
		lmi_quant_put_nibbles(b + 8, q);
	}
}

const struct lmi_dtype lmi_quant_q5_1 = {
	LMI_QUANT_NAMES(Q5_1, q5_1),
	.block_elems = 32,
	.block_bytes = 24,
	.is_quant = true,
	.n_f16 = 2,
	.f16_at = {0, 2},
	.file_type = {9, "Q5_1", NULL, LMD_DTYPE_Q5_1},
	.dequant = q5_1_dequant,
	.quant = q5_1_quant,
	.quant_nearest = q5_1_nearest,
	.decode_hash = 0xA31622FEFF2E7ACB,
};
