/* SPDX-License-Identifier: MIT
 *
 * IQ4_NL: 32 values, x = d * book[q]. */
#include <stdint.h>

#include "core/quant/book.h"
#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/half.h"

#define N 32

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qs[N / 2]; /* value j in the low, j + 16 in the high nibble of byte j */
};
_Static_assert(sizeof(struct block) == 18, "iq4_nl block");

LMI_DECODER(iq4_nl)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N / 2; j++) {
			dst[j] = d * (float)lmi_book_iq4[b->qs[j] & 15];
			dst[j + N / 2] = d * (float)lmi_book_iq4[b->qs[j] >> 4];
		}
	}
}

LMI_ENCODER(iq4_nl)
{
	struct block *b = dst;
	float x[N], w[N];
	int8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_fit_load(src, importance, i, x, w, N);
		lmi_put_f16(b->d, lmi_fit_book(x, w, N, lmi_book_iq4, q));
		for (int j = 0; j < N / 2; j++)
			b->qs[j] = (uint8_t)(q[j] | q[j + N / 2] << 4);
	}
}
