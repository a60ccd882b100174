/* SPDX-License-Identifier: MIT
 *
 * IQ1_BN: one d per row; 64 values, x = d * (t - 1), 16 ternary digits in 3 1/4 bytes.
 *
 * Fields: f16 d; blocks: u8 ql[12]; u8 last
 * Value:  d * (trit - 1); value 16g + 5k + i (k < 3, i < 5): trit i of ql[3g + k]; value 16g + 15:
 *         trit g of last; trit i of byte x: ((x * 3^(4 - i) mod 256) * 3) >> 8 */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/base/float16.h"
#include "core/quant_search/ternary_search.h"

#define N 64

/* Values 16g to 16g + 14: five in each of bytes 3g, 3g + 1, 3g + 2; value 16g + 15: digit g of the
 * last byte. */
struct block {
	uint8_t ql[12];
	uint8_t last;
};
_Static_assert(sizeof(struct block) == 13, "iq1_bn block");

struct row {
	uint8_t d[2]; /* f16 */
	struct block b[];
};

static const uint8_t power[5] = {81, 27, 9, 3, 1};

/* A byte is 256/243 times a number of five ternary digits, rounded up, the first digit lowest. */
static int trit(uint8_t byte, int i)
{
	return (uint8_t)(byte * power[i]) * 3 >> 8;
}

static uint8_t byte_of(const int trits[5])
{
	int v = 0;

	for (int i = 0; i < 5; i++)
		v += trits[i] * power[4 - i];
	return (uint8_t)((256 * v + 242) / 243);
}

LMI_QUANT_DECODER(iq1_bn)
{
	const struct row *r = src;
	const struct block *b = r->b;
	float d = lmi_get_f16(r->d);

	for (size_t i = 0; i < n; i += N, b++) {
		for (int e = 0; e < N; e++) {
			int g = e / 16, m = e % 16;

			*dst++ = d * (float)((m < 15 ? trit(b->ql[3 * g + m / 5], m % 5)
						     : trit(b->last, g)) -
					     1);
		}
	}
}

LMI_QUANT_ENCODER(iq1_bn)
{
	struct row *r = dst;
	struct block *b = r->b;
	float d = lmi_search_ternary(src, importance, n, true);

	lmi_put_f16(r->d, d);
	for (size_t i = 0; i < n; i += N, b++, src += N) {
		int last[5] = {0};

		for (int k = 0; k < 12; k++) {
			int t[5];

			for (int j = 0; j < 5; j++)
				t[j] = lmi_search_ternary_code(src[16 * (k / 3) + 5 * (k % 3) + j],
							       d);
			b->ql[k] = byte_of(t);
		}
		for (int g = 0; g < 4; g++)
			last[g] = lmi_search_ternary_code(src[16 * g + 15], d);
		b->last = byte_of(last);
	}
}

const struct lmi_dtype lmi_quant_iq1_bn = {
	LMI_QUANT_NAMES(IQ1_BN, iq1_bn),
	.block_elems = 64,
	.block_bytes = 13,
	.row_bytes_extra = 2,
	.is_quant = true,
	.file_type = {136, "IQ1_BN", NULL, LMD_DTYPE_IQ1_BN},
	.dequant = iq1_bn_dequant,
	.quant = iq1_bn_quant,
	.decode_hash = 0x09948AF55440C325,
};
