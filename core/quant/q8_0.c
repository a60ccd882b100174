/* SPDX-License-Identifier: MIT
 *
 * Q8_0: 32 values, one scale, x = q * d, encoded by plain rounding with d = max |x| / 127.
 *
 * Fields: f16 d; i8 qs[32]
 * Value:  q * d */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"
#include "core/base/float16.h"

#define N 32

struct block {
	uint8_t d[2]; /* f16 */
	int8_t qs[N];
};
_Static_assert(sizeof(struct block) == 34, "q8_0 block");

LMI_QUANT_DECODER(q8_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d);

		for (int j = 0; j < N; j++)
			*dst++ = (float)b->qs[j] * d;
	}
}

LMI_QUANT_ENCODER(q8_0)
{
	struct block *b = dst;

	(void)importance;
	for (size_t i = 0; i < n; i += N, b++)
		lmi_put_f16(b->d, lmi_quant_round_8_bits(src + i, b->qs));
}

const struct lmi_dtype lmi_quant_q8_0 = {
	LMI_QUANT_NAMES(Q8_0, q8_0),
	.block_elems = 32,
	.block_bytes = 34,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {0},
	.swappable = true,
	.file_type = {7, "Q8_0", NULL, LMD_DTYPE_Q8_0},
	.dequant = q8_0_dequant,
	.quant = q8_0_quant,
	.decode_hash = 0x49F3F8E5B805F4A5,
};
