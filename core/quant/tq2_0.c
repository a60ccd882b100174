/* SPDX-License-Identifier: MIT
 *
 * TQ2_0: 256 ternary values of 2 bits, x = (q - 1) * d.  Code 3 decodes to 2 * d; the
 * encoder does not use it.
 *
 * Fields: u8 qs[64]; f16 d
 * Value:  value 128h + 32k + l: q = (qs[32h + l] >> 2k) & 3; (q - 1) * d */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 256

/* Value 128h + 32k + l (h < 2, k < 4, l < 32) lies in bits 2k, 2k + 1 of qs[32h + l]. */
struct block {
	uint8_t qs[N / 4];
	uint8_t d[2]; /* f16 */
};
_Static_assert(sizeof(struct block) == 66, "tq2_0 block");

LMI_QUANT_DECODER(tq2_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			int q = b->qs[32 * (e / 128) + e % 32] >> 2 * (e / 32 % 4) & 3;

			*dst++ = (float)(q - 1) * d;
		}
	}
}

LMI_QUANT_ENCODER(tq2_0)
{
	struct block *b = dst;
	float x[N], w[N];
	int8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_put_f16(b->d, lmi_search_fit_scale(x, w, N, -1, 1, q));
		memset(b->qs, 0, sizeof(b->qs));
		for (int e = 0; e < N; e++)
			b->qs[32 * (e / 128) + e % 32] |= (uint8_t)((q[e] + 1) << 2 * (e / 32 % 4));
	}
}

const struct lmi_dtype lmi_quant_tq2_0 = {
	LMI_QUANT_NAMES(TQ2_0, tq2_0),
	.block_elems = 256,
	.block_bytes = 66,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {64},
	.swappable = true,
	.file_type = {37, "TQ2_0", NULL, LMD_DTYPE_TQ2_0},
	.dequant = tq2_0_dequant,
	.quant = tq2_0_quant,
	.decode_hash = 0x9FCAA6A38293C325,
};
