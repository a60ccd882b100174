/* SPDX-License-Identifier: MIT
 *
 * IQ3_K: 256 values in 16 groups of 16, x = (d * +-(2 scale + 1)) * book[q].
 *
 * Fields: f16 d; u16 second; u16 minus; u8 scales[8]; u8 qs[64]; u8 qh[32]
 * Value:  s = 2 field(scales, 4, g) + 1, with a minus where bit g of minus is 1; (d * s) * book; q
 *         = run(qs, 2, e) + 4 run(qh, 1, e) */
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant_search/codebook_search.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"

#define N 256
#define SHIFT 4 /* offset of the second codebook */

struct block {
	uint8_t d[2];           /* f16 */
	uint8_t second[2];      /* bit g: group g uses the second codebook */
	uint8_t minus[2];       /* bit g: its scale is negative */
	uint8_t scales[N / 32]; /* nibbles */
	uint8_t qs[N / 4];      /* two low bits of each code: iqk.h */
	uint8_t qh[N / 8];      /* the third bit of each code */
};
_Static_assert(sizeof(struct block) == 110, "iq3_k block");

LMI_QUANT_DECODER(iq3_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			int g = e / 16, s = 2 * lmi_iqk_field(b->scales, 4, g) + 1;
			int q = lmi_iqk_get_split(b->qs, 2, b->qh, 1, e);
			float dg = d * (float)(lmi_iqk_field(b->minus, 1, g) ? -s : s);

			*dst++ = dg * (float)(lmi_quant_book_iq3k[q] +
					      lmi_iqk_field(b->second, 1, g) * SHIFT);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	lmi_put_f16(b->d, k->d);
	for (int g = 0; g < N / 16; g++) {
		int s = k->s[g];

		lmi_iqk_set_field(b->second, 1, g, k->second[g]);
		lmi_iqk_set_field(b->minus, 1, g, s < 0);
		lmi_iqk_set_field(b->scales, 4, g, ((s < 0 ? -s : s) - 1) / 2);
	}
	for (int e = 0; e < N; e++)
		lmi_iqk_put_split(b->qs, 2, b->qh, 1, e, k->q[e]);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 16,
	.n_code = 8,
	.book = lmi_quant_book_iq3k,
	.n_book = 2,
	.shift = SHIFT,
	.s_lo = -31,
	.s_step = 2,
	.n_s = 32,
	.cand_lo = 0.65f,
	.cand_hi = 1.15f,
	.half = true,
};

LMI_QUANT_ENCODER(iq3_k)
{
	lmi_search_codebook_blocks(&shape, src, importance, n, dst, sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_iq3_k = {
	LMI_QUANT_NAMES(IQ3_K, iq3_k),
	.block_elems = 256,
	.block_bytes = 110,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {139, "IQ3_K", NULL, LMD_DTYPE_IQ3_K},
	.dequant = iq3_k_dequant,
	.quant = iq3_k_quant,
	.decode_hash = 0x878E6C2C2A012E81,
};
