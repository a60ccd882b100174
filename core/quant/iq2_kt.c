/* SPDX-License-Identifier: MIT
 *
 * IQ2_KT: one d per row; 256 values in 8 groups of 32; every 8 values are a trellis point
 * with a 16-bit index: x = (d * book[scale]) * value.
 *
 * Fields: f32 d; blocks: u8 sc[4]; u16 ql[32]
 * Value:  index = ql[p], scale nibble g / 4 of sc[g % 4]; as iq1_kt */
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"
#include "core/quant_search/trellis.h"

#define N 256

struct block {
	uint8_t scales[N / 64]; /* low nibbles: groups 0 to 3, high nibbles: 4 to 7 */
	uint8_t ql[N / 8][2];   /* u16: indices */
};
_Static_assert(sizeof(struct block) == 68, "iq2_kt block");

struct row {
	uint8_t d[4]; /* f32 */
	struct block b[];
};

LMI_QUANT_DECODER(iq2_kt)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i += N, b++) {
		for (int p = 0; p < N / 8; p++) {
			int g = p / 4, s = lmi_iqk_get_half(b->scales, 4, g);
			float dg = d * (float)lmi_quant_book_iq4[s];
			uint32_t x = LMI_SEARCH_TRELLIS_FIRST + lmi_get_le16(b->ql[p]);

			for (int k = 0; k < 8; k++)
				*dst++ = dg * (float)lmi_search_trellis_next(&x);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b->scales, 0, sizeof(b->scales));
	for (int g = 0; g < N / 32; g++)
		lmi_iqk_put_half(b->scales, 4, g, lmi_quant_codebook_iq4_code(k->s[g]));
	for (int p = 0; p < N / 8; p++)
		lmi_put_le16(b->ql[p], k->q[8 * p]);
}

LMI_QUANT_ENCODER(iq2_kt)
{
	static const struct lmi_search_trellis_shape points = {
		.dim = 8, .bits = 16, .n_codebook = 1, .n_cut = 1};
	static const struct lmi_search_codebook_shape shape = {.s_book = lmi_quant_book_iq4,
							       .n_s = 16};
	struct row *r = dst;
	float d = lmi_search_trellis_row(&points, &shape, src, importance, n, r->b,
					 sizeof(struct block), pack);

	lmi_put_le32(r->d, lmi_f32_bits(d));
}

const struct lmi_dtype lmi_quant_iq2_kt = {
	LMI_QUANT_NAMES(IQ2_KT, iq2_kt),
	.block_elems = 256,
	.block_bytes = 68,
	.row_bytes_extra = 4,
	.is_quant = true,
	.file_type = {151, "IQ2_KT", NULL, LMD_DTYPE_IQ2_KT},
	.dequant = iq2_kt_dequant,
	.quant = iq2_kt_quant,
	.decode_hash = 0xCA047F9816346341,
};
