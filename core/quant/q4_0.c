/* SPDX-License-Identifier: MIT
 *
 * Q4_0: 32 values, one scale, x = (q - 8) * d. */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/half.h"

#define N 32

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qs[N / 2]; /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 18, "q4_0 block");

LMI_DECODER(q4_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N / 2; j++) {
			dst[j] = (float)((b->qs[j] & 15) - 8) * d;
			dst[j + N / 2] = (float)((b->qs[j] >> 4) - 8) * d;
		}
	}
}

LMI_ENCODER(q4_0)
{
	struct block *b = dst;
	float x[N], w[N];
	int8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_fit_load(src, importance, i, x, w, N);
		lmi_put_f16(b->d, lmi_fit_scale(x, w, N, -8, 7, q));
		for (int j = 0; j < N / 2; j++)
			b->qs[j] = (uint8_t)((q[j] + 8) | (q[j + N / 2] + 8) << 4);
	}
}
