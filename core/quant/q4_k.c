/* SPDX-License-Identifier: MIT
 *
 * Q4_K: 256 values in 8 groups of 32, x = (d * scale) * q - (dmin * min). */
#include <stdint.h>
#include <string.h>

#include "core/quant/codec.h"
#include "core/quant/half.h"
#include "core/quant/lanefit.h"
#include "core/quant/kscale.h"

#define N 256

struct block {
	uint8_t d[2], dmin[2]; /* f16 */
	uint8_t scales[12];    /* see kscale.h */
	uint8_t qs[N / 2];     /* group 2p in the low, 2p + 1 in the high nibbles of qs[32p..] */
};
_Static_assert(sizeof(struct block) == 144, "q4_k block");

LMI_DECODER(q4_k)
{
	const struct block *b = src;

	for (size_t i = 0; i < n; i += N, b++) {
		float d = lmi_get_f16(b->d), dmin = lmi_get_f16(b->dmin);

		for (int g = 0; g < 8; g++) {
			const uint8_t *qs = b->qs + 32 * (g / 2);
			uint8_t sc, m;
			float dg, mg;

			lmi_kscale_get(b->scales, g, &sc, &m);
			dg = d * (float)sc;
			mg = dmin * (float)m;
			for (int l = 0; l < 32; l++)
				*dst++ = dg * (float)(qs[l] >> 4 * (g % 2) & 15) - mg;
		}
	}
}

static void pack(void *dst, const struct lmi_kblock *k)
{
	struct block *b = dst;
	lmi_put_f16(b->d, k->d);
	lmi_put_f16(b->dmin, k->dmin);
	lmi_kscale_put(b->scales, k->s, k->m);
	for (int j = 0; j < N / 2; j++) {
		int e = j / 32 * 64 + j % 32;

		b->qs[j] = (uint8_t)(k->q[e] | k->q[e + 32] << 4);
	}
}

LMI_ENCODER(q4_k)
{
	static const struct lmi_kshape shape = {.group = 32, .q_hi = 15, .s_hi = 63};

	lmi_lanefit_encode(lmi_lanefit_affine, &shape, src, importance, n, dst,
			   sizeof(struct block), pack);
}
