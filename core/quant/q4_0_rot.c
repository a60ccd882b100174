/* SPDX-License-Identifier: MIT
 *
 * Q4_0_ROT: Q4_0 for keys and values of a cache, after a rotation.  A few columns of a head have
 * values much larger than the others, and in a block of Q4_0 they set the scale.  The Hadamard matrix
 * H, h(i, j) = (-1)^(bits that are 1 in both i and j) / 8, spreads each of 64 values over all of them.
 * It is symmetric and its own inverse, so the decoder rotates back, and attention is the same with
 * decoded rows as with rotated queries (QuaRot, arXiv 2404.00456).
 *
 * Fields: 2 times: f16 d; u8 qs[16]
 * Value:  H y, y = (q - 8) * d as in q4_0 */
#include <stdint.h>
#include <string.h>

#include "core/base/float16.h"
#include "core/quant/codec.h"
#include "core/quant/round_nearest.h"

#define N    64
#define HALF LMI_QUANT_ROUND_N

struct block {
	struct {
		uint8_t d[2];         /* f16 */
		uint8_t qs[HALF / 2]; /* as in q4_0 */
	} half[2];
};
_Static_assert(sizeof(struct block) == 36, "q4_0_rot block");

/* Replaces x by H x. */
static void rotate(float *x)
{
	for (int w = 1; w < N; w *= 2) {
		for (int i = 0; i < N; i += 2 * w) {
			for (int j = i; j < i + w; j++) {
				float a = x[j], b = x[j + w];

				x[j] = a + b;
				x[j + w] = a - b;
			}
		}
	}
	for (int i = 0; i < N; i++)
		x[i] *= 0.125f;
}

LMI_QUANT_DECODER(q4_0_rot)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++, dst += N) {
		for (int h = 0; h < 2; h++) {
			float d = lmi_get_f16(b->half[h].d), *y = dst + h * HALF;

			for (int j = 0; j < HALF / 2; j++) {
				y[j] = (float)((b->half[h].qs[j] & 15) - 8) * d;
				y[j + HALF / 2] = (float)((b->half[h].qs[j] >> 4) - 8) * d;
			}
		}
		rotate(dst);
	}
}

LMI_QUANT_ENCODER(q4_0_rot)
{
	struct block *b = dst;

	(void)importance; /* of columns, which are mixed */
	for (size_t i = 0; i < n; i += N, b++) {
		uint8_t q[HALF];
		float x[N];

		lmi_search_fit_clean(src + i, x, N);
		rotate(x);
		for (int h = 0; h < 2; h++) {
			float d = lmi_quant_round_symmetric(x + h * HALF, 8, q);

			lmi_put_f16(b->half[h].d, lmi_search_fit_f16(d));
			lmi_quant_put_nibbles(b->half[h].qs, q);
		}
	}
}

const struct lmi_dtype lmi_quant_q4_0_rot = {
	LMI_QUANT_NAMES(Q4_0_ROT, q4_0_rot),
	.block_elems = 64,
	.block_bytes = 36,
	.is_activation = true,
	.for_cache = true,
	.dequant = q4_0_rot_dequant,
	.quant = q4_0_rot_quant,
	.decode_hash = 0x4DDF0D0C961A4D98,
};
