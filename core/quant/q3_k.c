/* SPDX-License-Identifier: MIT
 *
 * Q3_K: 256 values in 16 groups of 16, x = (d * (scale - 32)) * (q - 4).
 *
 * Fields: u8 hmask[32]; u8 qs[64]; u8 scales[12]; f16 d
 * Value:  value as q2_k; q = ((qs[..] >> 2k) & 3) - (bit 4h + k of hmask[16g + l] ? 0 : 4); scale
 *         i = 8h + 2k + g of 6 bits: low 4 = i < 8 ? lo(scales[i]) : hi(scales[i - 8]), high 2 =
 *         (scales[8 + i % 4] >> 2(i / 4)) & 3; (d * (scale - 32)) * q */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 256

/* Value 128h + 32k + l (h < 2, k < 4, l < 32) has its low bits in bits 2k, 2k + 1 of
 * qs[32h + l], its high bit in bit 4h + k of hmask[l]. */
struct block {
	uint8_t hmask[N / 8];
	uint8_t qs[N / 4];
	uint8_t scales[12]; /* 16 scales of 6 bits: the low nibbles of scales 0..7 and 8..15 in
			     * bytes 0..7, then the high bit pairs, that of scale i in bits 2(i / 4)
			     * of byte 8 + i % 4 */
	uint8_t d[2];       /* f16 */
};
_Static_assert(sizeof(struct block) == 110, "q3_k block");

static int scale_of(const uint8_t s[12], int i)
{
	int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4, high = s[8 + i % 4] >> 2 * (i / 4) & 3;

	return low | high << 4;
}

LMI_QUANT_DECODER(q3_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int g = 0; g < 16; g++) {
			int h = g / 8, k = g / 2 % 4, l0 = 16 * (g % 2);
			float dg = d * (float)(scale_of(b->scales, g) - 32);

			for (int l = l0; l < l0 + 16; l++) {
				int low = b->qs[32 * h + l] >> 2 * k & 3;
				int high = b->hmask[l] >> (4 * h + k) & 1;

				*dst++ = dg * (float)((low | high << 2) - 4);
			}
		}
	}
}

static void pack(void *dst, const struct lmi_search_superblock *k)
{
	struct block *b = dst;
	lmi_put_f16(b->d, k->d);
	memset(b, 0, offsetof(struct block, d));
	for (int g = 0; g < N / 16; g++) {
		int s = k->s[g] + 32;

		b->scales[g % 8] |= (uint8_t)((s & 15) << 4 * (g / 8));
		b->scales[8 + g % 4] |= (uint8_t)(s >> 4 << 2 * (g / 4));
	}
	for (int e = 0; e < N; e++) {
		int q = k->q[e] + 4;

		b->qs[32 * (e / 128) + e % 32] |= (uint8_t)((q & 3) << 2 * (e / 32 % 4));
		b->hmask[e % 32] |= (uint8_t)(q >> 2 << e / 32);
	}
}

LMI_QUANT_ENCODER(q3_k)
{
	static const struct lmi_search_superblock_shape shape = {
		.group = 16, .q_lo = -4, .q_hi = 3, .s_lo = -32, .s_hi = 31};

	lmi_search_simd_encode(lmi_search_simd_scale, &shape, src, importance, n, dst,
			       sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_q3_k = {
	LMI_QUANT_NAMES(Q3_K, q3_k),
	.block_elems = 256,
	.block_bytes = 110,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {108},
	.swappable = true,
	.dequant = q3_k_dequant,
	.quant = q3_k_quant,
	.decode_hash = 0x72597A95BC3D83E5,
};
