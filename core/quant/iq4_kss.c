/* SPDX-License-Identifier: MIT
 *
 * IQ4_KSS: one d per row; 256 values in 8 groups of 32, x = (d * (2 scale - 127)) * book[q].
 *
 * Each 16-bit word holds the codes of four values in 15 bits and one bit of the group's scale.
 * This is possible because the exclusive or of the 16 bits of four codes is 0.
 *
 * Fields: f32 d; blocks: u16 w[8][8]
 * Value:  group g: bit k of a byte as scales[g] of iq4_ks is bit 0 of w[g][k]; v = w[g][k] &
 *         0xfffe; v xor (v >> 1) are bytes 2k and 2k + 1 of 16 in nibble order */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/quant/codebook.h"
#include "core/quant_search/codebook_search.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"

#define N 256
#define SHIFT 4 /* offset of the second codebook */

struct block {
	uint8_t qs[N / 32][16]; /* 8 words of 16 bits per group */
};
_Static_assert(sizeof(struct block) == 128, "iq4_kss block");

struct row {
	uint8_t d[4]; /* f32 */
	struct block b[];
};

/* Bit 0 of word k of a group is bit k of the scale byte of IQ4_KS, which holds the scale and the
 * codebook.  The other bits, exclusive-ored with themselves shifted right, are bytes 2k and 2k + 1
 * of the codes in nibble order. */
static int unpack(const uint8_t words[16], uint8_t codes[16])
{
	int s = 0;

	for (int k = 0; k < 8; k++) {
		unsigned word = lmi_get_le16(words + 2 * k), v = word & 0xFFFEu;

		s |= (int)(word & 1) << k;
		lmi_put_le16(codes + 2 * k, (uint16_t)(v ^ v >> 1));
	}
	return s;
}

LMI_QUANT_DECODER(iq4_kss)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i += N, b++) {
		for (int g = 0; g < N / 32; g++) {
			uint8_t codes[16];
			int s = unpack(b->qs[g], codes);
			float dg = d * (float)((s & 254) - 127);

			for (int e = 0; e < 32; e++)
				*dst++ = dg *
					 (float)(lmi_quant_book_iq4[lmi_iqk_get_nibble(codes, e)] +
						 (s & 1) * SHIFT);
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	for (int g = 0; g < N / 32; g++) {
		int s = k->s[g] + 127 + k->second[g];
		uint8_t codes[16] = {0};

		for (int e = 0; e < 32; e++)
			lmi_iqk_put_nibble(codes, e, k->q[32 * g + e]);
		for (int w = 0; w < 8; w++) {
			unsigned v = lmi_get_le16(codes + 2 * w);

			/* bit i becomes the exclusive or of bits i to 15: the inverse of unpack */
			for (int shift = 1; shift < 16; shift *= 2)
				v ^= v >> shift;
			lmi_put_le16(b->qs[g] + 2 * w, (uint16_t)((v & 0xFFFEu) | (s >> w & 1)));
		}
	}
}

static int parity(unsigned v)
{
	return __builtin_popcount(v) & 1;
}

/* Makes the parity of four codes even: the code that is cheapest to change goes to the nearest
 * value of the other parity. */
static void make_even(const struct lmi_search_codebook *f, const float *x, const float *w,
		      float inv, int second, float *v, uint16_t *q)
{
	int at = 0, to = q[0] ^ 1; /* result if x * inv is NaN */
	float best = INFINITY, best_v = lmi_search_codebook_value(f, second, to);

	for (int i = 0; i < 4; i++) {
		int e = (i & 1) + 16 * (i >> 1);
		float u = x[e] * inv, have = (u - v[e]) * (u - v[e]);

		for (int c = q[e] < 3 ? 0 : q[e] - 3; c < 16 && c <= q[e] + 3; c++) {
			float other = lmi_search_codebook_value(f, second, c), cost;

			cost = w[e] * ((u - other) * (u - other) - have);
			if (parity((unsigned)c) != parity(q[e]) && cost < best) {
				best = cost;
				best_v = other;
				at = e;
				to = c;
			}
		}
	}
	v[at] = best_v;
	q[at] = (uint16_t)to;
}

static void even_codes(const struct lmi_search_codebook *f, const float *x, const float *w, int n,
		       float inv, int second, float *v, uint16_t *q)
{
	uint16_t own[32];

	q = q ? q : own;
	lmi_search_codebook_nearest(f, x, w, n, inv, second, v, q);
	for (int e = 0; e < 16; e += 2)
		if (parity((unsigned)(q[e] ^ q[e + 1] ^ q[e + 16] ^ q[e + 17])))
			make_even(f, x + e, w + e, inv, second, v + e, q + e);
}

static const struct lmi_search_codebook_shape shape = {
	.group = 32,
	.n_code = 16,
	.book = lmi_quant_book_iq4,
	.n_book = 2,
	.shift = SHIFT,
	.code = even_codes,
	.s_lo = -127,
	.s_step = 2,
	.n_s = 128,
	.cand_lo = 0.75f,
	.cand_hi = 1.1f,
	.half = false,
};

LMI_QUANT_ENCODER(iq4_kss)
{
	struct row *r = dst;
	float d = lmi_search_codebook_row(&shape, src, importance, n, r->b, sizeof(struct block),
					  pack);

	lmi_put_le32(r->d, lmi_f32_bits(d));
}

const struct lmi_dtype lmi_quant_iq4_kss = {
	LMI_QUANT_NAMES(IQ4_KSS, iq4_kss),
	.block_elems = 256,
	.block_bytes = 128,
	.row_bytes_extra = 4,
	.is_quant = true,
	.file_type = {148, "IQ4_KSS", NULL, LMD_DTYPE_IQ4_KSS},
	.dequant = iq4_kss_dequant,
	.quant = iq4_kss_quant,
	.decode_hash = 0x28D8A0B72D4A7B34,
};
