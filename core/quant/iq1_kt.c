/* SPDX-License-Identifier: MIT
 *
 * IQ1_KT: one d per row; 256 values in 8 groups of 32; every 8 values are a trellis point
 * with a 13-bit index: x = (d * book[scale]) * value.
 *
 * Fields: f32 d; blocks: u8 sc[8]; u8 ql[32]; u8 qh[16]
 * Value:  point p of 8 values, group p / 4: index = ql[p] + 256 (nibble p / 16 of qh[p % 16]) +
 *         4096 (bit 4 + p % 4 of sc[p / 4]); (d * book[lo(sc[p / 4])]) * v, book of iq4_nl, v:
 *         section 5 */
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"
#include "core/quant_search/trellis.h"

#define N 256

struct block {
	uint8_t scales[N / 32]; /* low nibble: scale of group g; bit 4 + i: bit 12 of point i of the
				 * group */
	uint8_t ql[N / 8];      /* low 8 bits of the indices */
	uint8_t qh[N / 16];     /* bits 8 to 11 of the indices: low nibbles for the first 16, high
				 * nibbles for the rest */
};
_Static_assert(sizeof(struct block) == 56, "iq1_kt block");

struct row {
	uint8_t d[4]; /* f32 */
	struct block b[];
};

LMI_QUANT_DECODER(iq1_kt)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i += N, b++) {
		for (int p = 0; p < N / 8; p++) {
			uint8_t s = b->scales[p / 4];
			float dg = d * (float)lmi_quant_book_iq4[s & 15];
			uint32_t x = LMI_SEARCH_TRELLIS_FIRST + b->ql[p];

			x += (uint32_t)lmi_iqk_get_half(b->qh, 16, p) << 8;
			x += (uint32_t)(s >> (4 + p % 4) & 1) << 12;
			for (int k = 0; k < 8; k++)
				*dst++ = dg * (float)lmi_search_trellis_next(&x);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	for (int g = 0; g < N / 32; g++)
		b->scales[g] = (uint8_t)lmi_quant_codebook_iq4_code(k->s[g]);
	for (int p = 0; p < N / 8; p++) {
		int q = k->q[8 * p];

		b->ql[p] = (uint8_t)q;
		lmi_iqk_put_half(b->qh, 16, p, q >> 8 & 15);
		b->scales[p / 4] |= (uint8_t)(q >> 12 << (4 + p % 4));
	}
}

LMI_QUANT_ENCODER(iq1_kt)
{
	static const struct lmi_search_trellis_shape points = {
		.dim = 8, .bits = 13, .n_codebook = 1, .n_cut = 1};
	static const struct lmi_search_codebook_shape shape = {.s_book = lmi_quant_book_iq4,
							       .n_s = 16};
	struct row *r = dst;
	float d = lmi_search_trellis_row(&points, &shape, src, importance, n, r->b,
					 sizeof(struct block), pack);

	lmi_put_le32(r->d, lmi_f32_bits(d));
}

const struct lmi_dtype lmi_quant_iq1_kt = {
	LMI_QUANT_NAMES(IQ1_KT, iq1_kt),
	.block_elems = 256,
	.block_bytes = 56,
	.row_bytes_extra = 4,
	.is_quant = true,
	.file_type = {156, "IQ1_KT", NULL, LMD_DTYPE_IQ1_KT},
	.dequant = iq1_kt_dequant,
	.quant = iq1_kt_quant,
	.decode_hash = 0xDE59BED67E52D899,
};
