/* SPDX-License-Identifier: MIT
 *
 * IQ2_BN: one d per row; 64 values of two bits, x = d * (q - 1).
 *
 * Fields: f32 d; blocks: u8 qs[16]
 * Value:  d * (((qs[e % 16] >> 2(e / 16)) & 3) - 1) */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant_search/ternary_search.h"

#define N 64

struct block {
	uint8_t qs[N / 4]; /* bits 2k, 2k + 1 of byte j: value 16k + j */
};
_Static_assert(sizeof(struct block) == 16, "iq2_bn block");

struct row {
	uint8_t d[4]; /* f32 */
	struct block b[];
};

LMI_QUANT_DECODER(iq2_bn)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i += N, b++)
		for (int e = 0; e < N; e++)
			*dst++ = d * (float)((b->qs[e % 16] >> 2 * (e / 16) & 3) - 1);
}

LMI_QUANT_ENCODER(iq2_bn)
{
	struct row *r = dst;
	struct block *b = r->b;
	float d = lmi_search_ternary(src, importance, n, false);

	lmi_put_le32(r->d, lmi_f32_bits(d));
	for (size_t i = 0; i < n; i += N, b++) {
		memset(b, 0, sizeof(*b));
		for (int e = 0; e < N; e++)
			b->qs[e % 16] |=
				(uint8_t)(lmi_search_ternary_code(*src++, d) << 2 * (e / 16));
	}
}

const struct lmi_dtype lmi_quant_iq2_bn = {
	LMI_QUANT_NAMES(IQ2_BN, iq2_bn),
	.block_elems = 64,
	.block_bytes = 16,
	.row_bytes_extra = 4,
	.is_quant = true,
	.file_type = {137, "IQ2_BN", NULL, LMD_DTYPE_IQ2_BN},
	.dequant = iq2_bn_dequant,
	.quant = iq2_bn_quant,
	.decode_hash = 0xA395FB216F6FC070,
};
