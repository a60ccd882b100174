/* SPDX-License-Identifier: MIT
 *
 * Q8_A: 32 codes of 8 bits with the scale and offset of their group, x = q * d + m.  Checkpoints
 * with affine codes of up to 8 bits are converted to this type in memory, without rounding, because
 * both factors are kept as float.  It never appears in a file, so it has no encoder.
 *
 * Fields: f32 d, m; u8 qs[32]
 * Value:  q * d + m */
#include <stdint.h>

#include "core/base/bytes.h"
#include "core/quant/codec.h"

#define N 32

struct block {
	uint8_t d[4], m[4]; /* f32 */
	uint8_t qs[N];
};
_Static_assert(sizeof(struct block) == 40, "q8_a block");

LMI_QUANT_DECODER(q8_a)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_bits_f32(lmi_get_le32(b->d)), m = lmi_bits_f32(lmi_get_le32(b->m));

		for (int j = 0; j < N; j++)
			*dst++ = (float)b->qs[j] * d + m;
	}
}

const struct lmi_dtype lmi_quant_q8_a = {
	LMI_QUANT_NAMES(Q8_A, q8_a),
	.block_elems = 32,
	.block_bytes = 40,
	.is_quant = true,
	.memory_only = true,
	.dequant = q8_a_dequant,
	.decode_hash = 0xA5591F1F4B670E68,
};
