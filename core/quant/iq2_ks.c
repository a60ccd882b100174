/* SPDX-License-Identifier: MIT
 *
 * IQ2_KS: one d per row; 256 values in 8 groups of 32, x = (d * (scale - 16)) * book[q].
 *
 * Fields: f16 d; blocks: u8 second; u8 sh; u8 sl[4]; u8 qs[64]
 * Value:  s = field(sl, 4, g) + 16 (bit g of sh); (d * (s - 16)) * book; codes as iq2_k */
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
	uint8_t second;         /* bit g: group g uses the second codebook */
	uint8_t scales_h;       /* bit g: the fifth bit of the scale of group g */
	uint8_t scales[N / 64]; /* nibbles: the low bits of each scale */
	uint8_t qs[N / 4];      /* two-bit codes: iqk.h */
};
_Static_assert(sizeof(struct block) == 70, "iq2_ks block");

struct row {
	uint8_t d[2]; /* f16 */
	struct block b[];
};

LMI_QUANT_DECODER(iq2_ks)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_get_f16(r->d);

	for (size_t i = 0; i < n; i += N, b++) {
		for (int e = 0; e < N; e++) {
			int g = e / 32, s = lmi_iqk_field_split(b->scales, &b->scales_h, 1, g);
			float dg = d * (float)(s - 16);

			*dst++ = dg * (float)(lmi_quant_book_iq2k[lmi_iqk_get(b->qs, 2, e)] +
					      (b->second >> g & 1) * SHIFT);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	for (int g = 0; g < N / 32; g++) {
		b->second |= (uint8_t)(k->second[g] << g);
		lmi_iqk_set_field_split(b->scales, &b->scales_h, 1, g, k->s[g] + 16);
	}
	for (int e = 0; e < N; e++)
		lmi_iqk_put(b->qs, 2, e, k->q[e]);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 32,
	.n_code = 4,
	.book = lmi_quant_book_iq2k,
	.n_book = 2,
	.shift = SHIFT,
	.s_lo = -16,
	.s_step = 1,
	.n_s = 32,
	.cand_lo = 0.45f,
	.cand_hi = 1.1f,
	.half = true,
};

LMI_QUANT_ENCODER(iq2_ks)
{
	struct row *r = dst;

	lmi_put_f16(r->d, lmi_search_codebook_row(&shape, src, importance, n, r->b,
						  sizeof(struct block), pack));
}

const struct lmi_dtype lmi_quant_iq2_ks = {
	LMI_QUANT_NAMES(IQ2_KS, iq2_ks),
	.block_elems = 256,
	.block_bytes = 70,
	.row_bytes_extra = 2,
	.is_quant = true,
	.file_type = {147, "IQ2_KS", NULL, LMD_DTYPE_IQ2_KS},
	.dequant = iq2_ks_dequant,
	.quant = iq2_ks_quant,
	.decode_hash = 0x30F915AEDF0B65C5,
};
