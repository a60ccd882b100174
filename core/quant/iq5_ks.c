/* SPDX-License-Identifier: MIT
 *
 * IQ5_KS: one d per row; 256 values in 8 groups of 32, x = (d * (2 scale - 127)) * book[q].
 *
 * Fields: f32 d; blocks: u8 scales[8]; u8 qs[128]; u8 qh[32]
 * Value:  scale as iq4_ks, codes as iq5_k */
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant_search/codebook_search.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"

#define N 256
#define SHIFT 2 /* offset of the second codebook */

struct block {
	uint8_t scales[N / 32]; /* bit 0: the group uses the second codebook; rest: scale */
	uint8_t qs[N / 2];      /* four low bits of each code: iqk.h */
	uint8_t qh[N / 8];      /* the fifth bit of each code */
};
_Static_assert(sizeof(struct block) == 168, "iq5_ks block");

struct row {
	uint8_t d[4]; /* f32 */
	struct block b[];
};

LMI_QUANT_DECODER(iq5_ks)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i += N, b++) {
		for (int e = 0; e < N; e++) {
			int s = b->scales[e / 32];
			int q = lmi_iqk_get_split(b->qs, 4, b->qh, 1, e);
			float dg = d * (float)((s & 254) - 127);

			*dst++ = dg * (float)(lmi_quant_book_iq5k[q] + (s & 1) * SHIFT);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	for (int g = 0; g < N / 32; g++)
		b->scales[g] = (uint8_t)(k->s[g] + 127 + k->second[g]);
	for (int e = 0; e < N; e++)
		lmi_iqk_put_split(b->qs, 4, b->qh, 1, e, k->q[e]);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 32,
	.n_code = 32,
	.book = lmi_quant_book_iq5k,
	.n_book = 2,
	.shift = SHIFT,
	.s_lo = -127,
	.s_step = 2,
	.n_s = 128,
	.cand_lo = 0.84f,
	.cand_hi = 1.06f,
	.half = false,
};

LMI_QUANT_ENCODER(iq5_ks)
{
	struct row *r = dst;
	float d = lmi_search_codebook_row(&shape, src, importance, n, r->b, sizeof(struct block),
					  pack);

	lmi_put_le32(r->d, lmi_f32_bits(d));
}

const struct lmi_dtype lmi_quant_iq5_ks = {
	LMI_QUANT_NAMES(IQ5_KS, iq5_ks),
	.block_elems = 256,
	.block_bytes = 168,
	.row_bytes_extra = 4,
	.is_quant = true,
	.file_type = {150, "IQ5_KS", NULL, LMD_DTYPE_IQ5_KS},
	.dequant = iq5_ks_dequant,
	.quant = iq5_ks_quant,
	.decode_hash = 0x3BE0781F57038D95,
};
