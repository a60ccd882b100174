/* SPDX-License-Identifier: MIT
 *
 * IQ3_KT: one d per row; 256 values in 8 groups of 32; every 8 values are a trellis point
 * with a 16-bit index and separate signs: x = +-((d * scale) * |value|).
 *
 * Fields: f32 d; blocks: u8 sc[4]; u16 ql[32]; u8 minus[32]
 * Value:  (d * s) * magnitude of v, s: the nibble itself; a minus where bit g of minus[e % 32] is
 *         1 */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"
#include "core/quant_search/trellis.h"

#define N 256

struct block {
	uint8_t scales[N / 64]; /* low nibbles: groups 0 to 3, high nibbles: 4 to 7 */
	uint8_t ql[N / 8][2];   /* u16: indices */
	uint8_t minus[N / 8];   /* bit g of byte j: sign of value j of group g */
};
_Static_assert(sizeof(struct block) == 100, "iq3_kt block");

struct row {
	uint8_t d[4]; /* f32 */
	struct block b[];
};

LMI_QUANT_DECODER(iq3_kt)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i += N, b++) {
		for (int p = 0; p < N / 8; p++) {
			int g = p / 4, s = lmi_iqk_get_half(b->scales, 4, g);
			uint32_t x = LMI_SEARCH_TRELLIS_FIRST + lmi_get_le16(b->ql[p]);
			float dg = d * (float)s;

			for (int k = 0; k < 8; k++) {
				int v = lmi_search_trellis_next(&x);
				float y = dg * (float)(v < 0 ? -v : v);

				*dst++ = b->minus[p % 4 * 8 + k] >> g & 1 ? -y : y;
			}
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	for (int g = 0; g < N / 32; g++)
		lmi_iqk_put_half(b->scales, 4, g, k->s[g]);
	for (int p = 0; p < N / 8; p++) {
		lmi_put_le16(b->ql[p], k->q[8 * p]);
		for (int i = 0; i < 8; i++)
			b->minus[p % 4 * 8 + i] |=
				(uint8_t)((k->q[8 * p + 1] >> i & 1) << (p / 4));
	}
}

LMI_QUANT_ENCODER(iq3_kt)
{
	static const struct lmi_search_trellis_shape points = {
		.dim = 8, .bits = 16, .magnitude = true, .n_codebook = 1, .n_cut = 1, .cut = {25}};
	static const struct lmi_search_codebook_shape shape = {.s_lo = 0, .s_step = 1, .n_s = 16};
	struct row *r = dst;
	float d = lmi_search_trellis_row(&points, &shape, src, importance, n, r->b,
					 sizeof(struct block), pack);

	lmi_put_le32(r->d, lmi_f32_bits(d));
}

const struct lmi_dtype lmi_quant_iq3_kt = {
	LMI_QUANT_NAMES(IQ3_KT, iq3_kt),
	.block_elems = 256,
	.block_bytes = 100,
	.row_bytes_extra = 4,
	.is_quant = true,
	.file_type = {152, "IQ3_KT", NULL, LMD_DTYPE_IQ3_KT},
	.dequant = iq3_kt_dequant,
	.quant = iq3_kt_quant,
	.decode_hash = 0xB33ED24449D1FE62,
};
