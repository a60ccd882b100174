/* SPDX-License-Identifier: MIT
 *
 * IQ4_KT: one d per row; 256 values in 8 groups of 32; every 4 values are a trellis point with a
 * 15-bit index into one of two codebooks per group: x = (d * (scale - 64)) * value.
 *
 * Fields: f32 d; blocks: u32 w[8]; u8 ql[64]; u8 qh[32]
 * Value:  point p of 4 values, group p / 8: index = ql[p] + 256 (nibble p / 32 of qh[p % 32]) +
 *         4096 ((w[g] >> (8 + 3 (p % 8))) & 7), and 32768 more in v where bit 0 of w[g] is 1; (d *
 *         (((w[g] >> 1) & 127) - 64)) * v */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"
#include "core/quant_search/trellis.h"

#define N 256

struct block {
	/* u32; bit 0: use the second codebook; bits 1 to 7: scale; bits 8 + 3i to 10 + 3i: bits 12
	 * to 14 of point i of the group */
	uint8_t groups[N / 32][4];
	uint8_t ql[N / 4]; /* low 8 bits of the indices */
	uint8_t qh[N / 8]; /* bits 8 to 11 of the indices: low nibbles for the first 32, high
			    * nibbles for the rest */
};
_Static_assert(sizeof(struct block) == 128, "iq4_kt block");

struct row {
	uint8_t d[4]; /* f32 */
	struct block b[];
};

LMI_QUANT_DECODER(iq4_kt)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i += N, b++) {
		for (int p = 0; p < N / 4; p++) {
			uint32_t v = lmi_get_le32(b->groups[p / 8]);
			uint32_t x = v & 1 ? LMI_SEARCH_TRELLIS_SECOND : LMI_SEARCH_TRELLIS_FIRST;
			float dg = d * (float)((int)(v >> 1 & 127) - 64);

			x += b->ql[p];
			x += (uint32_t)lmi_iqk_get_half(b->qh, 32, p) << 8;
			x += (v >> (8 + 3 * (p % 8)) & 7) << 12;
			for (int k = 0; k < 4; k++)
				*dst++ = dg * (float)lmi_search_trellis_next(&x);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	for (int g = 0; g < N / 32; g++) {
		uint32_t v = (uint32_t)k->second[g] | (uint32_t)(k->s[g] + 64) << 1;

		for (int i = 0; i < 8; i++)
			v |= (uint32_t)(k->q[32 * g + 4 * i] >> 12) << (8 + 3 * i);
		lmi_put_le32(b->groups[g], v);
	}
	for (int p = 0; p < N / 4; p++) {
		int q = k->q[4 * p];

		b->ql[p] = (uint8_t)q;
		lmi_iqk_put_half(b->qh, 32, p, q >> 8 & 15);
	}
}

LMI_QUANT_ENCODER(iq4_kt)
{
	static const struct lmi_search_trellis_shape points = {
		.dim = 4, .bits = 15, .n_codebook = 2, .n_cut = 3, .cut = {-25, 0, 25}};
	static const struct lmi_search_codebook_shape shape = {
		.s_lo = -64, .s_step = 1, .n_s = 128};
	struct row *r = dst;
	float d = lmi_search_trellis_row(&points, &shape, src, importance, n, r->b,
					 sizeof(struct block), pack);

	lmi_put_le32(r->d, lmi_f32_bits(d));
}

const struct lmi_dtype lmi_quant_iq4_kt = {
	LMI_QUANT_NAMES(IQ4_KT, iq4_kt),
	.block_elems = 256,
	.block_bytes = 128,
	.row_bytes_extra = 4,
	.is_quant = true,
	.file_type = {153, "IQ4_KT", NULL, LMD_DTYPE_IQ4_KT},
	.dequant = iq4_kt_dequant,
	.quant = iq4_kt_quant,
	.decode_hash = 0x214E4327F50D87E1,
};
