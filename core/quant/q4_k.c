/* SPDX-License-Identifier: MIT
 *
 * Q4_K: 256 values in 8 groups of 32, x = (d * scale) * q - (dmin * min).
 *
 * Fields: f16 d, dmin; u8 scales[12]; u8 qs[128]
 * Value:  group g of 32: q = nibble g % 2 of qs[32(g / 2) + l]; (d * sc) * q - (dmin * m). Scales
 *         S: g < 4: sc = S[g] & 63, m = S[g + 4] & 63; g >= 4: sc = lo(S[g + 4]) + 16 (S[g - 4] >>
 *         6), m = hi(S[g + 4]) + 16 (S[g] >> 6) */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"
#include "core/quant/kscale.h"

#define N 256

struct block {
	uint8_t d[2], dmin[2]; /* f16 */
	uint8_t scales[12];    /* see kscale.h */
	uint8_t qs[N / 2];     /* group 2p in the low, 2p + 1 in the high nibbles of qs[32p..] */
};
_Static_assert(sizeof(struct block) == 144, "q4_k block");

LMI_QUANT_DECODER(q4_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d), dmin = lmi_get_f16(b->dmin);

		for (int g = 0; g < 8; g++) {
			const uint8_t *qs = b->qs + 32 * (g / 2);
			uint8_t sc, m;
			float dg, mg;

			lmi_quant_kscale_get(b->scales, g, &sc, &m);
			dg = d * (float)sc;
			mg = dmin * (float)m;
			for (int l = 0; l < 32; l++)
				*dst++ = dg * (float)(qs[l] >> 4 * (g % 2) & 15) - mg;
		}
	}
}

static void pack(void *dst, const struct lmi_search_superblock *k)
{
	struct block *b = dst;
	lmi_put_f16(b->d, k->d);
	lmi_put_f16(b->dmin, k->dmin);
	lmi_quant_kscale_put(b->scales, k->s, k->m);
	for (int j = 0; j < N / 2; j++) {
		int e = j / 32 * 64 + j % 32;

		b->qs[j] = (uint8_t)(k->q[e] | k->q[e + 32] << 4);
	}
}

LMI_QUANT_ENCODER(q4_k)
{
	static const struct lmi_search_superblock_shape shape = {
		.group = 32, .q_hi = 15, .s_hi = 63};

	lmi_search_simd_encode(lmi_search_simd_affine, &shape, src, importance, n, dst,
			       sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_q4_k = {
	LMI_QUANT_NAMES(Q4_K, q4_k),
	.block_elems = 256,
	.block_bytes = 144,
	.is_quant = true,
	.n_f16 = 2,
	.f16_at = {0, 2},
	.swappable = true,
	.dequant = q4_k_dequant,
	.quant = q4_k_quant,
	.decode_hash = 0x169C2E1FFF69B559,
};
