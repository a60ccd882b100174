/* SPDX-License-Identifier: MIT
 *
 * Q6_0: 32 values, x = (q - 32) * d. */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant/half.h"
#include "core/quant/lanefit.h"

#define N 32

struct block {
	uint8_t d[2];      /* f16 */
	uint8_t qh[N / 4]; /* byte j: two high bits of values j, j + 16, j + 8, j + 24 */
	uint8_t qs[N / 2]; /* byte j: low bits of value j in the low nibble, of j + 16 in the high
			    * nibble */
};
_Static_assert(sizeof(struct block) == 26, "q6_0 block");

/* Returns the position of a value's high bits within their byte. */
static int high_at(int e)
{
	return 4 * (e / 8 % 2) + 2 * (e / 16);
}

LMI_DECODER(q6_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int e = 0; e < N; e++) {
			int lo = b->qs[e % 16] >> 4 * (e / 16) & 15;
			int hi = b->qh[e % 8] >> high_at(e) & 3;

			*dst++ = (float)((lo | hi << 4) - 32) * d;
		}
	}
}

static void pack(struct block *b, float d, const int8_t *q)
{
	memset(b, 0, sizeof(*b));
	lmi_put_f16(b->d, d);
	for (int e = 0; e < N; e++) {
		int v = q[e] + 32;

		b->qs[e % 16] |= (uint8_t)((v & 15) << 4 * (e / 16));
		b->qh[e % 8] |= (uint8_t)(v >> 4 << high_at(e));
	}
}

LMI_ENCODER(q6_0)
{
	struct block *b = dst;
	float d[LMI_LANES];
	int8_t q[LMI_LANES * N];

	while (n) {
		int m = n < sizeof(q) ? (int)(n / N) : LMI_LANES;

		lmi_lanefit_single(NULL, -32, 31, NULL, src, importance, m, d, q);
		for (int i = 0; i < m; i++)
			pack(b++, d[i], q + i * N);
		src += m * N;
		importance = importance ? importance + m * N : NULL;
		n -= (size_t)m * N;
	}
}
