/* SPDX-License-Identifier: MIT
 *
 * Q6_K: 256 values in 16 groups of 16, x = (d * scale) * (q - 32).
 *
 * Fields: u8 ql[128]; u8 qh[64]; i8 scales[16]; f16 d
 * Value:  value 128h + 32k + l: low = nibble k / 2 of ql[64h + 32(k % 2) + l], high = (qh[32h + l]
 *         >> 2k) & 3; (d * scales[value / 16]) * (low + 16 high - 32) */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant_search/simd_search.h"

#define N 256

/* Value 128h + 32k + l (h < 2, k < 4, l < 32) has its low bits in nibble k / 2 of
 * ql[64h + 32(k % 2) + l] and its high bits in bits 2k, 2k + 1 of qh[32h + l]. */
struct block {
	uint8_t ql[N / 2];
	uint8_t qh[N / 4];
	int8_t scales[N / 16];
	uint8_t d[2]; /* f16 */
};
_Static_assert(sizeof(struct block) == 210, "q6_k block");

LMI_QUANT_DECODER(q6_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			int h = e / 128, k = e / 32 % 4, l = e % 32;
			int lo = b->ql[64 * h + 32 * (k % 2) + l] >> 4 * (k / 2) & 15;
			int hi = b->qh[32 * h + l] >> 2 * k & 3;

			*dst++ = d * (float)b->scales[e / 16] * (float)((lo | hi << 4) - 32);
		}
	}
}

static void pack(void *dst, const struct lmi_search_superblock *k)
{
	struct block *b = dst;
	lmi_put_f16(b->d, k->d);
	memset(b->ql, 0, sizeof(b->ql));
	memset(b->qh, 0, sizeof(b->qh));
	for (int g = 0; g < N / 16; g++)
		b->scales[g] = (int8_t)k->s[g];
	for (int e = 0; e < N; e++) {
		int h = e / 128, r = e / 32 % 4, l = e % 32, q = k->q[e] + 32;

		b->ql[64 * h + 32 * (r % 2) + l] |= (uint8_t)((q & 15) << 4 * (r / 2));
		b->qh[32 * h + l] |= (uint8_t)(q >> 4 << 2 * r);
	}
}

LMI_QUANT_ENCODER(q6_k)
{
	static const struct lmi_search_superblock_shape shape = {
		.group = 16, .q_lo = -32, .q_hi = 31, .s_lo = -128, .s_hi = 127};

	lmi_search_simd_encode(lmi_search_simd_scale, &shape, src, importance, n, dst,
			       sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_q6_k = {
	LMI_QUANT_NAMES(Q6_K, q6_k),
	.block_elems = 256,
	.block_bytes = 210,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {208},
	.swappable = true,
	.file_type = {18, "Q6_K", NULL, LMD_DTYPE_Q6_K},
	.dequant = q6_k_dequant,
	.quant = q6_k_quant,
	.decode_hash = 0xE47EDA38E93D6BE1,
};
