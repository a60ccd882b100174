/* SPDX-License-Identifier: MIT
 *
 * IQ5_K: 256 values in 16 groups of 16, x = (d * (scale - 32)) * book[q].
 *
 * Fields: f16 d; u16 second; u8 sh[4]; u8 sl[8]; u8 qs[128]; u8 qh[32]
 * Value:  scale as iq4_k; q = run(qs, 4, e) + 16 run(qh, 1, e) */
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant_search/codebook_search.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"

#define N 256
#define SHIFT 2 /* offset of the second codebook */

struct block {
	uint8_t d[2];             /* f16 */
	uint8_t second[2];        /* bit g: group g uses the second codebook */
	uint8_t scales_h[N / 64]; /* the two high bits of each scale */
	uint8_t scales_l[N / 32]; /* nibbles: the low bits of each scale */
	uint8_t qs[N / 2];        /* four low bits of each code: iqk.h */
	uint8_t qh[N / 8];        /* the fifth bit of each code */
};
_Static_assert(sizeof(struct block) == 176, "iq5_k block");

LMI_QUANT_DECODER(iq5_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			int g = e / 16;
			int s = lmi_iqk_field_split(b->scales_l, b->scales_h, 2, g);
			int q = lmi_iqk_get_split(b->qs, 4, b->qh, 1, e);
			float dg = d * (float)(s - 32);

			*dst++ = dg * (float)(lmi_quant_book_iq5k[q] +
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
		lmi_iqk_set_field(b->second, 1, g, k->second[g]);
		lmi_iqk_set_field_split(b->scales_l, b->scales_h, 2, g, k->s[g] + 32);
	}
	for (int e = 0; e < N; e++)
		lmi_iqk_put_split(b->qs, 4, b->qh, 1, e, k->q[e]);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 16,
	.n_code = 32,
	.book = lmi_quant_book_iq5k,
	.n_book = 2,
	.shift = SHIFT,
	.s_lo = -32,
	.s_step = 1,
	.n_s = 64,
	.cand_lo = 0.86f,
	.cand_hi = 1.06f,
	.half = true,
};

LMI_QUANT_ENCODER(iq5_k)
{
	lmi_search_codebook_blocks(&shape, src, importance, n, dst, sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_iq5_k = {
	LMI_QUANT_NAMES(IQ5_K, iq5_k),
	.block_elems = 256,
	.block_bytes = 176,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {141, "IQ5_K", NULL, LMD_DTYPE_IQ5_K},
	.dequant = iq5_k_dequant,
	.quant = iq5_k_quant,
	.decode_hash = 0xF85DFEED2EACE7B7,
};
