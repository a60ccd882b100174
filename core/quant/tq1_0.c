/* SPDX-License-Identifier: MIT
 *
 * TQ1_0: 256 ternary values, five to a byte, x = (t - 1) * d.
 *
 * Fields: u8 qs[48]; u8 qh[4]; f16 d
 * Value:  trit n of byte x: ((x * 3^n mod 256) * 3) >> 8. Values 32n + m from qs[m] (m < 32, n <
 *         5), 160 + 16n + m from qs[32 + m] (m < 16), 240 + 4n + m from qh[m] (n < 4); (trit - 1)
 *         * d */
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

#define N 256

/* A byte holds the ternary digits t0 t1 t2 t3 t4 as the fraction 0.t0t1t2t3t4 in base 3, scaled to
 * 256 and rounded up; multiplying by 3 moves the next digit above the byte.  Bytes 0..31 of qs hold
 * values m + 32k (k < 5), bytes 32..47 values 160 + m + 16k, qh values 240 + m + 4k with four
 * digits each. */
struct block {
	uint8_t qs[48];
	uint8_t qh[4];
	uint8_t d[2]; /* f16 */
};
_Static_assert(sizeof(struct block) == 54, "tq1_0 block");

static const struct {
	int byte, n_bytes, value, n_trits; /* from qs[byte], for value + m + n_bytes * k */
} runs[3] = {{0, 32, 0, 5}, {32, 16, 160, 5}, {48, 4, 240, 4}};

static int trit(uint8_t byte, int k)
{
	static const uint8_t power[5] = {1, 3, 9, 27, 81};

	return (uint8_t)(byte * power[k]) * 3 >> 8;
}

LMI_QUANT_DECODER(tq1_0)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		float d = lmi_get_f16(b->d);

		for (int r = 0; r < 3; r++) {
			const uint8_t *p = r < 2 ? b->qs + runs[r].byte : b->qh;

			for (int k = 0; k < runs[r].n_trits; k++)
				for (int m = 0; m < runs[r].n_bytes; m++)
					dst[runs[r].value + runs[r].n_bytes * k + m] =
						(float)(trit(p[m], k) - 1) * d;
		}
	}
}

LMI_QUANT_ENCODER(tq1_0)
{
	struct block *b = dst;
	float x[N], w[N];
	int8_t q[N];

	for (size_t i = 0; i < n; i += N, b++) {
		lmi_search_fit_load(src, importance, i, x, w, N);
		lmi_put_f16(b->d, lmi_search_fit_scale(x, w, N, -1, 1, q));
		for (int r = 0; r < 3; r++) {
			uint8_t *p = r < 2 ? b->qs + runs[r].byte : b->qh;

			for (int m = 0; m < runs[r].n_bytes; m++) {
				int v = 0;

				for (int k = 0; k < 5; k++)
					v = 3 * v +
					    (k < runs[r].n_trits
						     ? q[runs[r].value + m + runs[r].n_bytes * k] +
							       1
						     : 0);
				p[m] = (uint8_t)((v * 256 + 242) / 243);
			}
		}
	}
}

const struct lmi_dtype lmi_quant_tq1_0 = {
	LMI_QUANT_NAMES(TQ1_0, tq1_0),
	.block_elems = 256,
	.block_bytes = 54,
	.is_quant = true,
	.n_f16 = 1,
	.f16_at = {52},
	.swappable = true,
	.file_type = {36, "TQ1_0", NULL, LMD_DTYPE_TQ1_0},
	.dequant = tq1_0_dequant,
	.quant = tq1_0_quant,
	.decode_hash = 0x754FBFBCD21EA325,
};
