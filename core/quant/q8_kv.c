/* SPDX-License-Identifier: MIT
 *
 * Q8_KV: one d per row and the sum of the row's codes, which products use; x = d * q. */
#include <math.h>
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/fit.h"
#include "core/quant/half.h"

struct row {
	uint8_t d[4];   /* f32 */
	uint8_t sum[4]; /* i32 */
	int8_t qs[];    /* the number of codes is a multiple of 32 */
};
_Static_assert(sizeof(struct row) == 8, "q8_kv header");

LMI_DECODER(q8_kv)
{
	const struct row *r = src;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i++)
		dst[i] = d * (float)r->qs[i];
}

LMI_ENCODER(q8_kv)
{
	struct row *r = dst;
	float peak = 0, d, inv, x;
	int32_t sum = 0;

	(void)importance;
	for (size_t i = 0; i < n; i++) {
		lmi_fit_clean(src + i, &x, 1);
		peak = fmaxf(peak, fabsf(x));
	}
	d = peak / 127;
	inv = d > 1e-38f ? 1 / d : 0;
	for (size_t i = 0; i < n; i++) {
		lmi_fit_clean(src + i, &x, 1);
		r->qs[i] = (int8_t)lmi_fit_round(x * inv, -127, 127);
		sum += r->qs[i];
	}
	lmi_put_le32(r->d, lmi_f32_bits(d));
	lmi_put_le32(r->sum, (uint32_t)sum);
}
