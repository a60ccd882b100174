/* SPDX-License-Identifier: MIT
 *
 * Q8_0: 32 values, one scale, x = q * d.  Q8_1 is the variant for activations; it also stores d *
 * (sum of q), so that a product with a type that has a minimum needs no second pass.  Both encode
 * by plain rounding with d = max |x| / 127. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/half.h"

#define N 32

struct block_q8_0 {
	uint8_t d[2]; /* f16 */
	int8_t qs[N];
};
_Static_assert(sizeof(struct block_q8_0) == 34, "q8_0 block");

struct block_q8_1 {
	uint8_t d[2]; /* f16 */
	uint8_t s[2]; /* f16, d * sum of qs */
	int8_t qs[N];
};
_Static_assert(sizeof(struct block_q8_1) == 36, "q8_1 block");

/* Writes the codes of one block; returns d before it is narrowed. */
static float encode(const float *src, int8_t *q)
{
	int8_t codes[N];
	float clean[N], peak = lmi_fit_greatest(src, N), d, inv;
	const float *x = src;

	if (!(peak <= 0x1p100f)) {
		lmi_fit_clean(src, clean, N);
		x = clean;
		peak = lmi_fit_greatest(x, N);
	}
	d = fminf(peak / 127, 65504);
	inv = d > 0 ? 1 / d : 0;
	for (int j = 0; j < N; j++) /* a separate array: the compiler must assume that q aliases
				     * x */
		codes[j] = (int8_t)lmi_fit_round(x[j] * inv, -127, 127);
	memcpy(q, codes, N);
	return d;
}

LMI_DECODER(q8_0)
{
	const struct block_q8_0 *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N; j++)
			*dst++ = (float)b->qs[j] * d;
	}
}

LMI_ENCODER(q8_0)
{
	struct block_q8_0 *b = dst;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b++)
		lmi_put_f16(b->d, encode(src + i, b->qs));
}

LMI_DECODER(q8_1)
{
	const struct block_q8_1 *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N; j++)
			*dst++ = (float)b->qs[j] * d;
	}
}

LMI_ENCODER(q8_1)
{
	struct block_q8_1 *b = dst;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b++) {
		float d = encode(src + i, b->qs);
		int sum = 0;

		for (int j = 0; j < N; j++)
			sum += b->qs[j];
		lmi_put_f16(b->d, d);
		lmi_put_f16(b->s, lmi_fit_f16((float)sum * d));
	}
}
