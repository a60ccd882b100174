/* SPDX-License-Identifier: MIT
 *
 * IQ2_KL: one d per row; 256 values in 8 groups of 32; every two neighbouring values share a 5-bit
 * code: (x0, x1) = (d * (scale - 32)) * pair[q].
 *
 * Fields: f16 d; blocks: u16 sh; u8 sl[4]; u8 qs[64]; u8 qh[16]
 * Value:  s = nibble g / 4 of sl[g % 4] + 16 field(sh, 2, g); values 2j and 2j + 1 of group g: (d
 *         * (s - 32)) * pair[q]; q = nibble g % 2 of qs[16 (g / 2) + j] + 16 (bit g of qh[j]) */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/quant_search/codebook_search.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant/iqk.h"

#define N 256
#define N_PAIR 32

struct block {
	uint8_t scales_h[2];      /* the two high bits of each scale */
	uint8_t scales_l[N / 64]; /* low bits of the scales: low nibbles for groups 0 to 3, high
				   * nibbles for 4 to 7 */
	uint8_t qs[N / 4];        /* group g: nibble g % 2 of the 16 bytes starting at 16 (g / 2) */
	uint8_t qh[N / 16];       /* bit g of byte j: the fifth bit of its pair j */
};
_Static_assert(sizeof(struct block) == 86, "iq2_kl block");

struct row {
	uint8_t d[2]; /* f16 */
	struct block b[];
};

static const int8_t pairs[N_PAIR][2] = {
	{-63, -23}, {-63, 13}, {-40, -63}, {-40, -10}, {-40, 13}, {-40, 47}, {-23, -40},
	{-23, -23}, {-23, 1},  {-23, 13},  {-23, 28},  {-10, -63}, {-10, 1}, {-10, 13},
	{-10, 47},  {1, -23},  {1, -10},   {1, 1},     {1, 13},    {1, 28},  {13, -40},
	{13, -23},  {13, -10}, {13, 1},    {13, 13},   {28, -63},  {28, -23}, {28, 1},
	{28, 28},   {28, 47},  {47, -23},  {47, 13},
};

LMI_QUANT_DECODER(iq2_kl)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_get_f16(r->d);

	for (size_t i = 0; i < n; i += N, b++) {
		for (int g = 0; g < N / 32; g++) {
			int s = lmi_iqk_get_half(b->scales_l, 4, g) |
				lmi_iqk_field(b->scales_h, 2, g) << 4;
			float dg = d * (float)(s - 32);

			for (int j = 0; j < 16; j++) {
				int q = (b->qs[16 * (g / 2) + j] >> 4 * (g % 2) & 15) |
					(b->qh[j] >> g & 1) << 4;

				*dst++ = dg * (float)pairs[q][0];
				*dst++ = dg * (float)pairs[q][1];
			}
		}
	}
}

static void pack(void *dst, const struct lmi_search_codebook_block *k)
{
	struct block *b = dst;

	memset(b, 0, sizeof(*b));
	for (int g = 0; g < N / 32; g++) {
		int s = k->s[g] + 32;

		lmi_iqk_put_half(b->scales_l, 4, g, s & 15);
		lmi_iqk_set_field(b->scales_h, 2, g, s >> 4);
		for (int j = 0; j < 16; j++) {
			int q = k->q[32 * g + 2 * j];

			b->qs[16 * (g / 2) + j] |= (uint8_t)((q & 15) << 4 * (g % 2));
			b->qh[j] |= (uint8_t)(q >> 4 << g);
		}
	}
}

/* Finds the nearest pair; its index is the code of both values. */
static void pair_codes(const struct lmi_search_codebook *f, const float *x, const float *w, int n,
		       float inv, int second, float *v, uint16_t *q)
{
	(void)f;
	(void)second;
	for (int i = 0; i < n; i += 2) {
		float a = x[i] * inv, b = x[i + 1] * inv, best = INFINITY;
		int at = 0;

		for (int c = 0; c < N_PAIR; c++) {
			float ea = a - (float)pairs[c][0], eb = b - (float)pairs[c][1];
			float err = w[i] * ea * ea + w[i + 1] * eb * eb;

			at = err < best ? c : at;
			best = err < best ? err : best;
		}
		v[i] = (float)pairs[at][0];
		v[i + 1] = (float)pairs[at][1];
		if (q)
			q[i] = q[i + 1] = (uint16_t)at;
	}
}

/* The range of the pairs, for the candidate scales. */
static const int8_t range[2] = {-63, 47};

static const struct lmi_search_codebook_shape shape = {
	.group = 32,
	.n_code = 2,
	.book = range,
	.n_book = 1,
	.code = pair_codes,
	.s_lo = -32,
	.s_step = 1,
	.n_s = 64,
	.cand_lo = 0.5f,
	.cand_hi = 1.15f,
	.n_cand = 8,
	.half = true,
};

LMI_QUANT_ENCODER(iq2_kl)
{
	struct row *r = dst;

	lmi_put_f16(r->d, lmi_search_codebook_row(&shape, src, importance, n, r->b,
						  sizeof(struct block), pack));
}

const struct lmi_dtype lmi_quant_iq2_kl = {
	LMI_QUANT_NAMES(IQ2_KL, iq2_kl),
	.block_elems = 256,
	.block_bytes = 86,
	.row_bytes_extra = 2,
	.is_quant = true,
	.file_type = {155, "IQ2_KL", NULL, LMD_DTYPE_IQ2_KL},
	.dequant = iq2_kl_dequant,
	.quant = iq2_kl_quant,
	.decode_hash = 0xEFF35E52D3B66905,
};
