/* SPDX-License-Identifier: MIT
 *
 * PQ2_0 of Prism ML's fork of llama.cpp: Q2_0 with one scale for 128 values, x = (q - 1) * d, so -d,
 * 0, d or 2d.  Ternary models do not use 2d.
 *
 * Fields: f16 d; u8 qs[32]
 * Value:  (((qs[j / 4] >> 2(j % 4)) & 3) - 1) * d */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 128

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qs[N / 4]; /* value j in bits 2(j % 4) of byte j / 4 */
};
_Static_assert(sizeof(struct block) == 34, "pq2_0 block");

LMI_QUANT_DECODER(pq2_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N; j++)
			*dst++ = (float)((b->qs[j / 4] >> 2 * (j % 4) & 3) - 1) * d;
	}
}

LMI_QUANT_ENCODER(pq2_0)
{
	struct block *b = dst;
	float x[N], w[N];
	int8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_put_f16(b->d, lmi_search_fit_scale(x, w, N, -1, 2, q));
		memset(b->qs, 0, sizeof(b->qs));
		for (int j = 0; j < N; j++)
			b->qs[j / 4] |= (uint8_t)((q[j] + 1) << 2 * (j % 4));
	}
}

const struct lmi_dtype lmi_quant_pq2_0 = {
	LMI_QUANT_NAMES(PQ2_0, pq2_0),
	.block_elems = 128,
	.block_bytes = 34,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.swappable = true,
	.file_type = {128, "PQ2_0", NULL, LMD_DTYPE_PQ2_0},
	.dequant = pq2_0_dequant,
	.quant = pq2_0_quant,
	.decode_hash = 0x9EF48445E2C32325,
};
