/* SPDX-License-Identifier: MIT
 *
 * Q8_1: Q8_0 for activations.  It also stores d * (sum of q), so that a product with a type that has
 * a minimum needs no second pass.
 *
 * Fields: f16 d, s; i8 qs[32]
 * Value:  q * d; s = d * sum of q */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 32

struct block {
	uint8_t d[2]; /* f16 */
	uint8_t s[2]; /* f16, d * sum of qs */
	int8_t qs[N];
};
_Static_assert(sizeof(struct block) == 36, "q8_1 block");

LMI_QUANT_DECODER(q8_1)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N; j++)
			*dst++ = (float)b->qs[j] * d;
	}
}

LMI_QUANT_ENCODER(q8_1)
{
	struct block *b = dst;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_quant_round_8_bits(src + i, b->qs);
		int sum = 0;

		for (int j = 0; j < N; j++)
			sum += b->qs[j];
		lmi_put_f16(b->d, d);
		lmi_put_f16(b->s, lmi_search_fit_f16((float)sum * d));
	}
}

const struct lmi_dtype lmi_quant_q8_1 = {
	LMI_QUANT_NAMES(Q8_1, q8_1),
	.block_elems = 32,
	.block_bytes = 36,
	.is_activation = true,
	.dequant = q8_1_dequant,
	.quant = q8_1_quant,
	.decode_hash = 0xAC835C1BB8167765,
};
