/* SPDX-License-Identifier: MIT
 *
 * Q6_K: 256 values in 16 groups of 16, x = (d * scale) * (q - 32). */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/half.h"

#define N 256

/* Value 128h + 32k + l (h < 2, k < 4, l < 32) has its low bits in nibble k / 2 of
 * ql[64h + 32(k % 2) + l] and its high bits in bits 2k, 2k + 1 of qh[32h + l]. */
struct block {
	uint8_t ql[N / 2];
	uint8_t qh[N / 4];
	int8_t scales[N / 16];
	uint8_t d[2]; /* f16 */
};
_Static_assert(sizeof(struct block) == 210, "q6_k block");

LMI_DECODER(q6_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			int h = e / 128, k = e / 32 % 4, l = e % 32;
			int lo = b->ql[64 * h + 32 * (k % 2) + l] >> 4 * (k / 2) & 15;
			int hi = b->qh[32 * h + l] >> 2 * k & 3;

			*dst++ = d * (float)b->scales[e / 16] * (float)((lo | hi << 4) - 32);
		}
	}
}
