/* SPDX-License-Identifier: MIT
 *
 * IQ4_NL: 32 values, x = d * book[q].
 *
 * Fields: f16 d; u8 qs[16]
 * Value:  d * book[q] */
#include <stdint.h>

#include "core/quant/codebook.h"
#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 32

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qs[N / 2]; /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 18, "iq4_nl block");

LMI_QUANT_DECODER(iq4_nl)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N / 2; j++) {
			dst[j] = d * (float)lmi_quant_book_iq4[b->qs[j] & 15];
			dst[j + N / 2] = d * (float)lmi_quant_book_iq4[b->qs[j] >> 4];
		}
	}
}

static void pack(struct block *b, float d, const int8_t *q)
{
	lmi_put_f16(b->d, d);
	for (int j = 0; j < N / 2; j++)
		b->qs[j] = (uint8_t)(q[j] | q[j + N / 2] << 4);
}

LMI_QUANT_ENCODER(iq4_nl)
{
	struct block *b = dst;
	float d[LMI_SEARCH_SIMD_GROUPS];
	int8_t q[LMI_SEARCH_SIMD_GROUPS * N];

	while (n) {
		int m = n < sizeof(q) ? (int)(n / N) : LMI_SEARCH_SIMD_GROUPS;

		lmi_search_simd_single(NULL, 0, 0, lmi_quant_book_iq4, src, importance, m, d, q);
		for (int i = 0; i < m; i++)
			pack(b++, d[i], q + i * N);
		src += m * N;
		importance = importance ? importance + m * N : NULL;
		n -= (size_t)m * N;
	}
}

/* Puts the peak at the end of the codebook, then computes the best scale for these codes. */
LMI_QUANT_NEAREST(iq4_nl)
{
	uint8_t *b = dst, codes[N];
	int8_t q[N];
	float x[N];

	(void)importance;
	for (size_t i = 0; i < n; i += N, b += 18) {
		float d, xv = 0, vv = 0;

		lmi_search_fit_clean(src + i, x, N);
		d = lmi_quant_peak(x) / (float)lmi_quant_book_iq4[0];
		lmi_search_fit_book_codes(x, N, lmi_quant_book_iq4, fabsf(d) > 1e-38f ? d : 0, q);
		for (int j = 0; j < N; j++) {
			float v = lmi_quant_book_iq4[q[j]], w = x[j] * x[j];

			xv += w * v * x[j];
			vv += w * v * v;
			codes[j] = (uint8_t)q[j];
		}
		if (vv > 0 && isfinite(xv) && isfinite(vv))
			d = xv / vv;
		lmi_put_f16(b, lmi_search_fit_f16(d));
		lmi_quant_put_nibbles(b + 2, codes);
	}
}

const struct lmi_dtype lmi_quant_iq4_nl = {
	LMI_QUANT_NAMES(IQ4_NL, iq4_nl),
	.block_elems = 32,
	.block_bytes = 18,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.swappable = true,
	.file_type = {25, "IQ4_NL", NULL, LMD_DTYPE_IQ4_NL},
	.dequant = iq4_nl_dequant,
	.quant = iq4_nl_quant,
	.quant_nearest = iq4_nl_nearest,
	.decode_hash = 0x370259C9FA621E65,
};
