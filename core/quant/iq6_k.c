/* SPDX-License-Identifier: MIT
 *
 * IQ6_K: 256 values in 16 groups of 16, x = (d * scale) * value(q), where the codebook is a cubic:
 * value(q) = -127 + q (6.2568 + q (-0.11218 + 0.0011972 q)), plus 1 in the second codebook.
 *
 * Fields: f16 d; u16 second; i8 scales[16]; u8 qs[128]; u8 qh[64]
 * Value:  (d * scales[g]) * book; q = run(qs, 4, e) + 16 run(qh, 2, e); the book is the cubic of
 *         section 5 */
#include <stdint.h>
#include <string.h>

#include "core/quant_search/codebook_search.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"

#define N 256
#define SHIFT 1 /* offset of the second codebook */

struct block {
	uint8_t d[2];          /* f16 */
	uint8_t second[2];     /* bit g: group g uses the second codebook */
	int8_t scales[N / 16];
	uint8_t qs[N / 2];     /* four low bits of each code: iqk.h */
	uint8_t qh[N / 4];     /* the two high bits of each code */
};
_Static_assert(sizeof(struct block) == 212, "iq6_k block");

static float value(int q)
{
	float v = (float)q;

	return -127.0f + v * (6.2568f + v * (-0.11218f + v * 0.0011972f));
}

LMI_QUANT_DECODER(iq6_k)
{
	const struct block *b = src;
	float books[2][64];

	for (int q = 0; q < 64; q++) {
		books[0][q] = value(q);
		books[1][q] = value(q) + (float)SHIFT;
	}
	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int g = 0; g < N / 16; g++, dst += 16) {
			/* fields of values 32 apart share a byte: iqk.h */
			const uint8_t *lo = b->qs + 32 * (g / 4) + 16 * (g % 2);
			const uint8_t *hi = b->qh + 32 * (g / 8) + 16 * (g % 2);
			const float *book = books[lmi_iqk_field(b->second, 1, g)];
			const int lo_at = 4 * (g / 2 % 2), hi_at = 2 * (g / 2 % 4);
			const float dg = d * (float)b->scales[g];

			for (int e = 0; e < 16; e++)
				dst[e] = dg * book[(lo[e] >> lo_at & 15) |
						   (hi[e] >> hi_at & 3) << 4];
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	lmi_put_f16(b->d, k->d);
	for (int g = 0; g < N / 16; g++) {
		lmi_iqk_set_field(b->second, 1, g, k->second[g]);
		b->scales[g] = (int8_t)k->s[g];
	}
	for (int e = 0; e < N; e++)
		lmi_iqk_put_split(b->qs, 4, b->qh, 2, e, k->q[e]);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 16,
	.n_code = 64,
	.value = value,
	.n_book = 2,
	.shift = SHIFT,
	.s_lo = -128,
	.s_step = 1,
	.n_s = 256,
	.cand_lo = 0.92f,
	.cand_hi = 1.04f,
	.half = true,
};

LMI_QUANT_ENCODER(iq6_k)
{
	lmi_search_codebook_blocks(&shape, src, importance, n, dst, sizeof(struct block), pack);
}

const struct lmi_dtype lmi_quant_iq6_k = {
	LMI_QUANT_NAMES(IQ6_K, iq6_k),
	.block_elems = 256,
	.block_bytes = 212,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.file_type = {142, "IQ6_K", NULL, LMD_DTYPE_IQ6_K},
	.dequant = iq6_k_dequant,
	.quant = iq6_k_quant,
	.decode_hash = 0xDA993F9026870B2E,
};
