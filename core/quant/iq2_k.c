/* SPDX-License-Identifier: MIT
 *
 * IQ2_K: 256 values in 16 groups of 16, x = (d * (scale - 8)) * book[q].
 *
 * Fields: f16 d; u16 second; u8 scales[8]; u8 qs[64]
 * Value:  (d * (field(scales, 4, g) - 8)) * book; q = run(qs, 2, e); bit g of second: the second
 *         book */
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant_search/codebook_search.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"

#define N 256
#define SHIFT 5 /* offset of the second codebook */

struct block {
	uint8_t d[2];           /* f16 */
	uint8_t second[2];      /* bit g: group g uses the second codebook */
	uint8_t scales[N / 32]; /* nibbles */
	uint8_t qs[N / 4];      /* two-bit codes: iqk.h */
};
_Static_assert(sizeof(struct block) == 76, "iq2_k block");

LMI_QUANT_DECODER(iq2_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			float dg = d * (float)(lmi_iqk_field(b->scales, 4, e / 16) - 8);
			int second = lmi_iqk_field(b->second, 1, e / 16);

			*dst++ = dg * (float)(lmi_quant_book_iq2k[lmi_iqk_get(b->qs, 2, e)] +
					      second * SHIFT);
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
		lmi_iqk_set_field(b->scales, 4, g, k->s[g] + 8);
	}
	for (int e = 0; e < N; e++)
		lmi_iqk_put(b->qs, 2, e, k->q[e]);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 16,
	.n_code = 4,
	.book = lmi_quant_book_iq2k,
	.n_book = 2,
	.shift = SHIFT,
	.s_lo = -8,
	.s_step = 1,
	.n_s = 16,
	.cand_lo = 0.5f,
	.cand_hi = 1.15f,
	.half = true,
};

LMI_QUANT_ENCODER(iq2_k)
{
	lmi_search_codebook_blocks(&shape, src, importance, n, dst, sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_iq2_k = {
	LMI_QUANT_NAMES(IQ2_K, iq2_k),
	.block_elems = 256,
	.block_bytes = 76,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {138, "IQ2_K", NULL, LMD_DTYPE_IQ2_K},
	.dequant = iq2_k_dequant,
	.quant = iq2_k_quant,
	.decode_hash = 0x1CC35A8F5FA377C5,
};
