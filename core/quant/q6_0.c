/* SPDX-License-Identifier: MIT
 *
 * Q6_0: 32 values, x = (q - 32) * d.
 *
 * Fields: f16 d; u8 qh[8]; u8 qs[16]
 * Value:  (q - 32) * d; nibble order of 32; bits 0, 1 of qh[j] are the high bits of value j, 2, 3
 *         of j + 16, 4, 5 of j + 8, 6, 7 of j + 24 */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 32

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qh[N / 4]; /* byte j: two high bits of values j, j + 16, j + 8, j + 24 */
	uint8_t qs[N / 2]; /* byte j: low bits of value j in the low nibble, of j + 16 in the high
			    * nibble */
};
_Static_assert(sizeof(struct block) == 26, "q6_0 block");

/* Returns the position of a value's high bits within their byte. */
static int high_at(int e)
{
	return 4 * (e / 8 % 2) + 2 * (e / 16);
}

LMI_QUANT_DECODER(q6_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			int lo = b->qs[e % 16] >> 4 * (e / 16) & 15;
			int hi = b->qh[e % 8] >> high_at(e) & 3;

			*dst++ = (float)((lo | hi << 4) - 32) * d;
		}
	}
}

static void pack(struct block *b, float d, const int8_t *q)
{
	memset(b, 0, sizeof(*b));
	lmi_put_f16(b->d, d);
	for (int e = 0; e < N; e++) {
		int v = q[e] + 32;

		b->qs[e % 16] |= (uint8_t)((v & 15) << 4 * (e / 16));
		b->qh[e % 8] |= (uint8_t)(v >> 4 << high_at(e));
	}
}

LMI_QUANT_ENCODER(q6_0)
{
	struct block *b = dst;
	float d[LMI_SEARCH_SIMD_GROUPS];
	int8_t q[LMI_SEARCH_SIMD_GROUPS * N];

	while (n) {
		int m = n < sizeof(q) ? (int)(n / N) : LMI_SEARCH_SIMD_GROUPS;

		lmi_search_simd_single(NULL, -32, 31, NULL, src, importance, m, d, q);
		for (int i = 0; i < m; i++)
			pack(b++, d[i], q + i * N);
		src += m * N;
		importance = importance ? importance + m * N : NULL;
		n -= (size_t)m * N;
	}
}

LMI_QUANT_NEAREST(q6_0)
{
	uint8_t *b = dst, q[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 26) {
		lmi_put_f16(b, lmi_search_fit_f16(lmi_quant_round_symmetric(src + i, 32, q)));
		for (int j = 0; j < N / 4; j++) /* bit order of q6_0.c */
			b[2 + j] = (uint8_t)(q[j] >> 4 | q[j + 16] >> 4 << 2 | q[j + 8] >> 4 << 4 |
					     q[j + 24] >> 4 << 6);
		lmi_quant_put_nibbles(b + 10, q);
	}
}

const struct lmi_dtype lmi_quant_q6_0 = {
	LMI_QUANT_NAMES(Q6_0, q6_0),
	.block_elems = 32,
	.block_bytes = 26,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {135, "Q6_0", NULL, LMD_DTYPE_Q6_0},
	.dequant = q6_0_dequant,
	.quant = q6_0_quant,
	.quant_nearest = q6_0_nearest,
	.decode_hash = 0x2A2CAEC575383425,
};
