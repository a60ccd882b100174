/* SPDX-License-Identifier: MIT
 *
 * IQ3_KS: one d per row; 256 values in 8 groups of 32, x = (d * (scale - 16)) * book[q].
 *
 * Fields: f16 d; blocks: u8 sh; u8 second; u8 sl[4]; u8 qs[64]; u8 qh[32]
 * Value:  s = nibble g / 4 of sl[g % 4] + 16 (bit g of sh); (d * (s - 16)) * book; codes as iq3_k */
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
	uint8_t scales_h;       /* bit g: the fifth bit of the scale of group g */
	uint8_t second;         /* bit g: the group uses the second codebook */
	uint8_t scales[N / 64]; /* low nibbles: groups 0 to 3, high nibbles: 4 to 7 */
	uint8_t qs[N / 4];      /* two low bits of each code: iqk.h */
	uint8_t qh[N / 8];      /* the third bit of each code */
};
_Static_assert(sizeof(struct block) == 102, "iq3_ks block");

struct row {
	uint8_t d[2]; /* f16 */
	struct block b[];
};

LMI_QUANT_DECODER(iq3_ks)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_get_f16(r->d);

	for (size_t i = 0; i < n; i += N, b++) {
		for (int e = 0; e < N; e++) {
			int g = e / 32, s = lmi_iqk_get_half(b->scales, 4, g) |
					    (b->scales_h >> g & 1) << 4;
			int q = lmi_iqk_get_split(b->qs, 2, b->qh, 1, e);
			float dg = d * (float)(s - 16);

			*dst++ =
				dg * (float)(lmi_quant_book_iq3k[q] + (b->second >> g & 1) * SHIFT);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	for (int g = 0; g < N / 32; g++) {
		int s = k->s[g] + 16;

		b->second |= (uint8_t)(k->second[g] << g);
		b->scales_h |= (uint8_t)(s >> 4 << g);
		lmi_iqk_put_half(b->scales, 4, g, s & 15);
	}
	for (int e = 0; e < N; e++)
		lmi_iqk_put_split(b->qs, 2, b->qh, 1, e, k->q[e]);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 32,
	.n_code = 8,
	.book = lmi_quant_book_iq3k,
	.n_book = 2,
	.shift = SHIFT,
	.s_lo = -16,
	.s_step = 1,
	.n_s = 32,
	.cand_lo = 0.6f,
	.cand_hi = 1.1f,
	.half = true,
};

LMI_QUANT_ENCODER(iq3_ks)
{
	struct row *r = dst;

	lmi_put_f16(r->d, lmi_search_codebook_row(&shape, src, importance, n, r->b,
						  sizeof(struct block), pack));
}

const struct lmi_dtype lmi_quant_iq3_ks = {
	LMI_QUANT_NAMES(IQ3_KS, iq3_ks),
	.block_elems = 256,
	.block_bytes = 102,
	.row_bytes_extra = 2,
	.is_quant = true,
	.file_type = {154, "IQ3_KS", NULL, LMD_DTYPE_IQ3_KS},
	.dequant = iq3_ks_dequant,
	.quant = iq3_ks_quant,
	.decode_hash = 0x6F6AC6861689AC0D,
};
