/* SPDX-License-Identifier: MIT
 *
 * IQ4_XS: 256 values in 8 groups of 32, x = (d * (scale - 32)) * book[q].
 *
 * Fields: f16 d; u16 scales_h; u8 scales_l[4]; u8 qs[128]
 * Value:  group g of 32: s = nibble g % 2 of scales_l[g / 2] + 16 ((scales_h >> 2g) & 3); (d * (s
 *         - 32)) * book[q]; nibble order of 32 within a group */
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 256

struct block {
	uint8_t d[2];             /* f16 */
	uint8_t scales_h[2];      /* u16; bits 2g, 2g + 1: high bits of the scale of group g */
	uint8_t scales_l[N / 64]; /* nibble g % 2 of byte g / 2: low bits of the scale of group g */
	uint8_t qs[N / 32][16];   /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 136, "iq4_xs block");

LMI_QUANT_DECODER(iq4_xs)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int g = 0; g < N / 32; g++, dst += 32) {
			int low = b->scales_l[g / 2] >> 4 * (g % 2) & 15;
			int high = lmi_get_le16(b->scales_h) >> 2 * g & 3;
			float dg = d * (float)((low | high << 4) - 32);

			for (int j = 0; j < 16; j++) {
				dst[j] = dg * (float)lmi_quant_book_iq4[b->qs[g][j] & 15];
				dst[j + 16] = dg * (float)lmi_quant_book_iq4[b->qs[g][j] >> 4];
			}
		}
	}
}

static void pack(void *dst, const struct lmi_search_superblock *k)
{
	struct block *b = dst;
	uint16_t high;

	lmi_put_f16(b->d, k->d);
	memset(b->scales_l, 0, sizeof(b->scales_l));
	high = 0;
	for (int g = 0; g < N / 32; g++) {
		int s = k->s[g] + 32;

		b->scales_l[g / 2] |= (uint8_t)((s & 15) << 4 * (g % 2));
		high |= (uint16_t)(s >> 4 << 2 * g);
		for (int j = 0; j < 16; j++)
			b->qs[g][j] =
				(uint8_t)(k->q[32 * g + j] | k->q[32 * g + j + 16] << 4);
	}
	lmi_put_le16(b->scales_h, high);
}

LMI_QUANT_ENCODER(iq4_xs)
{
	static const struct lmi_search_superblock_shape shape = {
		.group = 32, .s_lo = -32, .s_hi = 31, .book = lmi_quant_book_iq4};

	lmi_search_simd_encode(lmi_search_simd_scale, &shape, src, importance, n, dst,
			       sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_iq4_xs = {
	LMI_QUANT_NAMES(IQ4_XS, iq4_xs),
	.block_elems = 256,
	.block_bytes = 136,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {30, "IQ4_XS", NULL, LMD_DTYPE_IQ4_XS},
	.dequant = iq4_xs_dequant,
	.quant = iq4_xs_quant,
	.decode_hash = 0x993A7D806C34CE33,
};
