/* SPDX-License-Identifier: MIT
 *
 * NVFP4: 64 values of E2M1 in groups of 16 with 8-bit float scales, x = book[q] * scale / 2; the
 * codebook holds twice the values of E2M1.  A file may have an additional scale for the whole
 * tensor, stored as a separate tensor and applied to products.
 *
 * Fields: u8 d[4]; u8 qs[32]
 * Value:  group s of 16: byte 8s + j holds values j (low) and j + 8 (high); fp4[q] * (scale / 2),
 *         scale: E4M3 without sign, bias 7, exponent 0: mantissa * 2^-9, code 0x7f is 0. Bit 7 is
 *         ignored, except that 0xff is an ordinary 480 */
#include <math.h>
#include <stdint.h>

#include "core/quant/codebook.h"
#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N     64
#define GROUP 16

struct block {
	uint8_t d[N / GROUP]; /* unsigned E4M3 */
	uint8_t qs[N / GROUP]
		  [GROUP / 2]; /* value j in the low, j + 8 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 36, "nvfp4 block");

/* Half of an E4M3 number without sign, bias 7.  0x7F, normally NaN, is 0; bit 7 is ignored except
 * that it makes 0xFF an ordinary 480. */
static float scale_of(unsigned code)
{
	unsigned exp = code >> 3 & 15, man = code & 7;

	if (code == 0x7F)
		return 0;
	return exp ? ldexpf((float)(8 + man), (int)exp - 11) : (float)man * 0x1p-10f;
}

LMI_QUANT_DECODER(nvfp4)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		for (int g = 0; g < N / GROUP; g++, dst += GROUP) {
			float d = scale_of(b->d[g]);

			for (int j = 0; j < GROUP / 2; j++) {
				dst[j] = (float)lmi_quant_book_fp4[b->qs[g][j] & 15] * d;
				dst[j + GROUP / 2] =
					(float)lmi_quant_book_fp4[b->qs[g][j] >> 4] * d;
			}
		}
	}
}

static double try_scale(const float *x, const float *w, unsigned code, uint8_t *q)
{
	double d = scale_of(code), err = 0;

	for (int j = 0; j < GROUP; j++) {
		double r;

		q[j] = d > 0 ? lmi_quant_fp4_code((float)(x[j] / d)) : 0;
		r = x[j] - lmi_quant_book_fp4[q[j]] * d;
		err += w[j] * r * r;
	}
	return err;
}

/* Returns the lowest code whose scale maps `peak` to at most the greatest value, 12. */
static int code_for(float peak)
{
	int code = 0;

	while (code < 0x7E && scale_of((unsigned)code) * 12 < peak)
		code++;
	return code;
}

LMI_QUANT_ENCODER(nvfp4)
{
	struct block *b = dst;
	float x[GROUP], w[GROUP];
	uint8_t q[GROUP];

	for (size_t i = 0; i < n; i += N, b++) {
		for (int g = 0; g < N / GROUP; g++) {
			size_t at = i + (size_t)(GROUP * g);
			double best = INFINITY;
			float peak = 0;
			int top;

			lmi_search_fit_load(src, importance, at, x, w, GROUP);
			for (int j = 0; j < GROUP; j++)
				peak = fmaxf(peak, fabsf(x[j]));
			top = code_for(peak);
			for (int c = top - 4; c <= top + 5; c++) {
				double err = c >= 0 && c < 0x7F ? try_scale(x, w, (unsigned)c, q)
								: INFINITY;

				if (err < best) {
					best = err;
					b->d[g] = (uint8_t)c;
				}
			}
			(void)try_scale(x, w, b->d[g], q);
			for (int j = 0; j < GROUP / 2; j++)
				b->qs[g][j] = (uint8_t)(q[j] | q[j + GROUP / 2] << 4);
		}
	}
}

const struct lmi_dtype lmi_quant_nvfp4 = {
	LMI_QUANT_NAMES(NVFP4, nvfp4),
	.block_elems = 64,
	.block_bytes = 36,
	.is_quant = true,
	.swappable = true,
	.file_type = {39, "NVFP4", NULL, LMD_DTYPE_NVFP4},
	.dequant = nvfp4_dequant,
	.quant = nvfp4_quant,
	.decode_hash = 0xC5562D8A7D60A325,
};
