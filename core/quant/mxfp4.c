/* SPDX-License-Identifier: MIT
 *
 * MXFP4: 32 values of E2M1 with a power of two as scale, x = book[q] * 2^(e - 128); the codebook
 * holds twice the values of E2M1.
 *
 * Fields: u8 e; u8 qs[16]
 * Value:  fp4[q] * 2^(e - 128). e = 0 and 1 give the denormals 2^-128 and 2^-127; 255 is an
 *         ordinary exponent */
#include <math.h>
#include <stdint.h>

#include "core/quant/codebook.h"
#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 32

struct block {
	uint8_t e;
	uint8_t qs[N / 2]; /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 17, "mxfp4 block");

/* 2^(e - 128); denormal for e = 0 and 1.  255 is an ordinary exponent. */
static float scale_of(unsigned e)
{
	return lmi_bits_f32(e < 2 ? 0x200000u << e : (e - 1) << 23);
}

LMI_QUANT_DECODER(mxfp4)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = scale_of(b->e);

		for (int j = 0; j < N / 2; j++) {
			dst[j] = (float)lmi_quant_book_fp4[b->qs[j] & 15] * d;
			dst[j + N / 2] = (float)lmi_quant_book_fp4[b->qs[j] >> 4] * d;
		}
	}
}

static double try_scale(const float *x, const float *w, unsigned e, uint8_t *q)
{
	double d = scale_of(e), err = 0;

	for (int j = 0; j < N; j++) {
		double r;

		q[j] = lmi_quant_fp4_code((float)(x[j] / d));
		r = x[j] - lmi_quant_book_fp4[q[j]] * d;
		err += w[j] * r * r;
	}
	return err;
}

LMI_QUANT_ENCODER(mxfp4)
{
	struct block *b = dst;
	float x[N], w[N];
	uint8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		double best = INFINITY;
		float peak = 0;
		int top, at = 0;

		lmi_search_fit_load(src, importance, i, x, w, N);
		for (int j = 0; j < N; j++)
			peak = fmaxf(peak, fabsf(x[j]));
		/* The greatest codebook value is 12: tries scales from "the peak is 12" to "the
		 * peak is far beyond it". */
		top = peak > 0 ? ilogbf(peak) + 128 - 3 : 0;
		for (int e = top - 2; e <= top + 1; e++) {
			double err = e >= 0 && e < 255 ? try_scale(x, w, (unsigned)e, q) : INFINITY;

			if (err < best) {
				best = err;
				at = e;
			}
		}
		(void)try_scale(x, w, (unsigned)at, q);
		b->e = (uint8_t)at;
		for (int j = 0; j < N / 2; j++)
			b->qs[j] = (uint8_t)(q[j] | q[j + N / 2] << 4);
	}
}

const struct lmi_dtype lmi_quant_mxfp4 = {
	LMI_QUANT_NAMES(MXFP4, mxfp4),
	.block_elems = 32,
	.block_bytes = 17,
	.is_quant = true,
	.swappable = true,
	.dequant = mxfp4_dequant,
	.quant = mxfp4_quant,
	.decode_hash = 0x9DDDDF4E25F4A325,
};
