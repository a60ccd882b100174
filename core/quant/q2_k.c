/* SPDX-License-Identifier: MIT
 *
 * Q2_K: 256 values in 16 groups of 16, x = (d * scale) * q - (dmin * min).
 *
 * Fields: u8 scales[16]; u8 qs[64]; f16 d, dmin
 * Value:  value 128h + 32k + 16g + l (h, g < 2, k < 4, l < 16): q = (qs[32h + 16g + l] >> 2k) & 3,
 *         s = scales[8h + 2k + g]; (d * lo(s)) * q - (dmin * hi(s)) */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 256

/* Value 128h + 32k + l (h < 2, k < 4, l < 32) lies in bits 2k, 2k + 1 of qs[32h + l]. */
struct block {
	uint8_t scales[N / 16]; /* scale in the low, minimum in the high nibble */
	uint8_t qs[N / 4];
	uint8_t d[2], dmin[2]; /* f16 */
};
_Static_assert(sizeof(struct block) == 84, "q2_k block");

LMI_QUANT_DECODER(q2_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d), dmin = lmi_get_f16(b->dmin);

		for (int g = 0; g < 16; g++) {
			const uint8_t *qs = b->qs + 32 * (g / 8) + 16 * (g % 2);
			float dg = d * (float)(b->scales[g] & 15);
			float mg = dmin * (float)(b->scales[g] >> 4);

			for (int l = 0; l < 16; l++)
				*dst++ = dg * (float)(qs[l] >> 2 * (g / 2 % 4) & 3) - mg;
		}
	}
}

static void pack(void *dst, const struct lmi_search_superblock *k)
{
	struct block *b = dst;
	lmi_put_f16(b->d, k->d);
	lmi_put_f16(b->dmin, k->dmin);
	for (int g = 0; g < N / 16; g++)
		b->scales[g] = (uint8_t)(k->s[g] | k->m[g] << 4);
	memset(b->qs, 0, sizeof(b->qs));
	for (int e = 0; e < N; e++)
		b->qs[32 * (e / 128) + e % 32] |= (uint8_t)(k->q[e] << 2 * (e / 32 % 4));
}

LMI_QUANT_ENCODER(q2_k)
{
	static const struct lmi_search_superblock_shape shape = {
		.group = 16, .q_hi = 3, .s_hi = 15};

	lmi_search_simd_encode(lmi_search_simd_affine, &shape, src, importance, n, dst,
			       sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_q2_k = {
	LMI_QUANT_NAMES(Q2_K, q2_k),
	.block_elems = 256,
	.block_bytes = 84,
	.is_quant = true,
	.n_f16 = 2,
	.f16_at = {80, 82},
	.swappable = true,
	.file_type = {10, "Q2_K", NULL, LMD_DTYPE_Q2_K},
	.dequant = q2_k_dequant,
	.quant = q2_k_quant,
	.decode_hash = 0xF8EB79EDFDABB156,
};
