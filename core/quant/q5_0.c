/* SPDX-License-Identifier: MIT
 *
 * Q5_0: 32 values, one scale, x = (q - 16) * d.
 *
 * Fields: f16 d; u32 qh; u8 qs[16]
 * Value:  (q - 16) * d; bit j of qh is bit 4 of value j */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 32

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qh[4];     /* bit j is the fifth bit of value j */
	uint8_t qs[N / 2]; /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 22, "q5_0 block");

LMI_QUANT_DECODER(q5_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d);
		uint32_t qh = lmi_get_le32(b->qh);

		for (int j = 0; j < N / 2; j++) {
			int lo = (int)((b->qs[j] & 15u) | (qh >> j & 1) << 4);
			int hi = (int)(b->qs[j] >> 4 | (qh >> (j + N / 2) & 1) << 4);

			dst[j] = (float)(lo - 16) * d;
			dst[j + N / 2] = (float)(hi - 16) * d;
		}
	}
}

static void pack(struct block *b, float d, const int8_t *q)
{
	uint32_t qh = 0;

	lmi_put_f16(b->d, d);
	for (int j = 0; j < N; j++)
		qh |= (uint32_t)(q[j] + 16) >> 4 << j;
	lmi_put_le32(b->qh, qh);
	for (int j = 0; j < N / 2; j++)
		b->qs[j] = (uint8_t)(((q[j] + 16) & 15) | ((q[j + N / 2] + 16) & 15) << 4);
}

LMI_QUANT_ENCODER(q5_0)
{
	struct block *b = dst;
	float d[LMI_SEARCH_SIMD_GROUPS];
	int8_t q[LMI_SEARCH_SIMD_GROUPS * N];

	while (n) {
		int m = n < sizeof(q) ? (int)(n / N) : LMI_SEARCH_SIMD_GROUPS;

		lmi_search_simd_single(NULL, -16, 15, NULL, src, importance, m, d, q);
		for (int i = 0; i < m; i++)
			pack(b++, d[i], q + i * N);
		src += m * N;
		importance = importance ? importance + m * N : NULL;
		n -= (size_t)m * N;
	}
}

LMI_QUANT_NEAREST(q5_0)
{
	uint8_t *b = dst, q[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 22) {
		lmi_put_f16(b, lmi_search_fit_f16(lmi_quant_round_symmetric(src + i, 16, q)));
		lmi_quant_put_fifth(b + 2, q);
		lmi_quant_put_nibbles(b + 6, q);
	}
}

const struct lmi_dtype lmi_quant_q5_0 = {
	LMI_QUANT_NAMES(Q5_0, q5_0),
	.block_elems = 32,
	.block_bytes = 22,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {8, "Q5_0", NULL, LMD_DTYPE_Q5_0},
	.dequant = q5_0_dequant,
	.quant = q5_0_quant,
	.quant_nearest = q5_0_nearest,
	.decode_hash = 0xE1D6AEB385186B25,
};
