/* SPDX-License-Identifier: MIT
 *
 * Q4_0: 32 values, one scale, x = (q - 8) * d.
 *
 * Fields: f16 d; u8 qs[16]
 * Value:  (q - 8) * d */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 32

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qs[N / 2]; /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 18, "q4_0 block");

LMI_QUANT_DECODER(q4_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N / 2; j++) {
			dst[j] = (float)((b->qs[j] & 15) - 8) * d;
			dst[j + N / 2] = (float)((b->qs[j] >> 4) - 8) * d;
		}
	}
}

static void pack(struct block *b, float d, const int8_t *q)
{
	lmi_put_f16(b->d, d);
	for (int j = 0; j < N / 2; j++)
		b->qs[j] = (uint8_t)((q[j] + 8) | (q[j + N / 2] + 8) << 4);
}

LMI_QUANT_ENCODER(q4_0)
{
	struct block *b = dst;
	float d[LMI_SEARCH_SIMD_GROUPS];
	int8_t q[LMI_SEARCH_SIMD_GROUPS * N];

	while (n) {
		int m = n < sizeof(q) ? (int)(n / N) : LMI_SEARCH_SIMD_GROUPS;

		lmi_search_simd_single(NULL, -8, 7, NULL, src, importance, m, d, q);
		for (int i = 0; i < m; i++)
			pack(b++, d[i], q + i * N);
		src += m * N;
		importance = importance ? importance + m * N : NULL;
		n -= (size_t)m * N;
	}
}

LMI_QUANT_NEAREST(q4_0)
{
	uint8_t *b = dst, q[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 18) {
		lmi_put_f16(b, lmi_search_fit_f16(lmi_quant_round_symmetric(src + i, 8, q)));
		lmi_quant_put_nibbles(b + 2, q);
	}
}

const struct lmi_dtype lmi_quant_q4_0 = {
	LMI_QUANT_NAMES(Q4_0, q4_0),
	.block_elems = 32,
	.block_bytes = 18,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.swappable = true,
	.file_type = {2, "Q4_0", NULL, LMD_DTYPE_Q4_0},
	.dequant = q4_0_dequant,
	.quant = q4_0_quant,
	.quant_nearest = q4_0_nearest,
	.decode_hash = 0x721C0861461A4725,
};
