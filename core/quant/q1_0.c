/* SPDX-License-Identifier: MIT
 *
 * Q1_0: 128 signs and one scale, x = +d or -d. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/half.h"

#define N 128

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qs[N / 8]; /* bit j % 8 of byte j / 8; 1 = plus */
};
_Static_assert(sizeof(struct block) == 18, "q1_0 block");

LMI_DECODER(q1_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N; j++)
			*dst++ = b->qs[j / 8] >> j % 8 & 1 ? d : -d;
	}
}

/* Given the signs, the best d is the weighted mean of the magnitudes. */
LMI_ENCODER(q1_0)
{
	struct block *b = dst;
	float x[N], w[N];

	for (size_t i = 0; i < n; i += N, b++) {
		double sum = 0, sw = 0;

		lmi_fit_load(src, importance, i, x, w, N);
		memset(b->qs, 0, sizeof(b->qs));
		for (int j = 0; j < N; j++) {
			sum += (double)w[j] * fabsf(x[j]);
			sw += w[j];
			b->qs[j / 8] |= (uint8_t)((x[j] >= 0) << j % 8);
		}
		lmi_put_f16(b->d, lmi_fit_f16((float)(sum / sw)));
	}
}
