/* SPDX-License-Identifier: MIT
 *
 * Q4_1: 32 values, scale and minimum, x = q * d + m. */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 32

struct block {
	uint8_t d[2], m[2]; /* f16 */
	uint8_t qs[N / 2];  /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 20, "q4_1 block");

LMI_QUANT_DECODER(q4_1)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d), m = lmi_get_f16(b->m);

		for (int j = 0; j < N / 2; j++) {
			dst[j] = (float)(b->qs[j] & 15) * d + m;
			dst[j + N / 2] = (float)(b->qs[j] >> 4) * d + m;
		}
	}
}

LMI_QUANT_ENCODER(q4_1)
{
	struct block *b = dst;
	float x[N], w[N], d, m;
	uint8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_search_fit_affine(x, w, N, 15, &d, &m, q);
		lmi_put_f16(b->d, d);
		lmi_put_f16(b->m, m);
		for (int j = 0; j < N / 2; j++)
			b->qs[j] = (uint8_t)(q[j] | q[j + N / 2] << 4);
	}
}
