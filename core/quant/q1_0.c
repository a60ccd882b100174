/* SPDX-License-Identifier: MIT
 *
 * Q1_0: 128 signs and one scale, x = +d or -d.
 *
 * Fields: f16 d; u8 qs[16]
 * Value:  bit j % 8 of qs[j / 8] ? d : -d */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 128

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qs[N / 8]; /* bit j % 8 of byte j / 8; 1 = plus */
};
_Static_assert(sizeof(struct block) == 18, "q1_0 block");

LMI_QUANT_DECODER(q1_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N; j++)
			*dst++ = b->qs[j / 8] >> j % 8 & 1 ? d : -d;
	}
}

/* Given the signs, the best d is the weighted mean of the magnitudes. */
LMI_QUANT_ENCODER(q1_0)
{
	struct block *b = dst;
	float x[N], w[N];

	for (size_t i = 0; i < n; i += N, b++) {
		double sum = 0, sw = 0;

		lmi_search_fit_load(src, importance, i, x, w, N);
		memset(b->qs, 0, sizeof(b->qs));
		for (int j = 0; j < N; j++) {
			sum += (double)w[j] * fabsf(x[j]);
			sw += w[j];
			b->qs[j / 8] |= (uint8_t)((x[j] >= 0) << j % 8);
		}
		lmi_put_f16(b->d, lmi_search_fit_f16((float)(sum / sw)));
	}
}

const struct lmi_dtype lmi_quant_q1_0 = {
	LMI_QUANT_NAMES(Q1_0, q1_0),
	.block_elems = 128,
	.block_bytes = 18,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.swappable = true,
	.file_type = {40, "Q1_0", NULL, LMD_DTYPE_Q1_0},
	.dequant = q1_0_dequant,
	.quant = q1_0_quant,
	.decode_hash = 0x308728169BE16325,
};
