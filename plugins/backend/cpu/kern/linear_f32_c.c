/* SPDX-License-Identifier: MIT
 *
 * Products in float, portable: the host decodes four weight rows at a time, which are multiplied
 * with all rows of x.  Value i of a row goes to lane i mod 8; the lanes are added pairwise. */
#include <string.h>

#include "variants.h"

#define TILE 4

/* The compiler maps this to the registers that are available. */
typedef float lanes __attribute__((vector_size(16)));

static size_t scratch_bytes(uint32_t k)
{
	return ((size_t)k * TILE * sizeof(float) + KERN_ALIGN - 1) / KERN_ALIGN * KERN_ALIGN;
}

static float dot(const float *w, const float *x, uint32_t k)
{
	lanes s = {0}, s4 = {0}; /* lanes 0-3, 4-7 */
	uint32_t i = 0;

	for (; i + 8 <= k; i += 8) {
		lanes v[2], y[2];

		memcpy(v, w + i, sizeof(v));
		memcpy(y, x + i, sizeof(y));
		s += v[0] * y[0];
		s4 += v[1] * y[1];
	}
	for (uint32_t j = 0; i + j < k; j++)
		(j < 4 ? &s : &s4)[0][j % 4] += w[i + j] * x[i + j];
	s += s4;
	return (s[0] + s[2]) + (s[1] + s[3]);
}

static void run(const struct kern_linear *self, const struct kern_product *p)
{
	float *w = p->scratch;

	for (uint32_t r = 0; r < p->n_row; r += TILE) {
		uint32_t n = p->n_row - r < TILE ? p->n_row - r : TILE;

		for (uint32_t i = 0; i < n; i++)
			/* The caller asked for a type that the host can decode. */
			(void)p->host->dequant_rows(p->host->ctx, self->dtype,
						    (const char *)p->w + (r + i) * p->w_stride,
						    w + (size_t)i * p->k, p->k);
		for (uint32_t c = 0; c < p->n_col; c++)
			for (uint32_t i = 0; i < n; i++)
				p->y[c][r + i] = dot(w + (size_t)i * p->k, p->x[c], p->k);
	}
}

#define KERNEL(type)                                                                               \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_F32, .isa = "c",                        \
		.scratch_bytes = scratch_bytes, .run = run                                         \
	}

const struct kern_linear kern_float_c[] = {
	KERNEL(F32),    KERNEL(F16),    KERNEL(BF16),    KERNEL(F64),   KERNEL(Q4_0),
	KERNEL(Q4_1),   KERNEL(Q5_0),   KERNEL(Q5_1),    KERNEL(Q8_0),  KERNEL(Q2_K),
	KERNEL(Q3_K),   KERNEL(Q4_K),   KERNEL(Q5_K),    KERNEL(Q6_K),  KERNEL(IQ2_XXS),
	KERNEL(IQ2_XS), KERNEL(IQ2_S),  KERNEL(IQ3_XXS), KERNEL(IQ3_S), KERNEL(IQ1_S),
	KERNEL(IQ1_M),  KERNEL(IQ4_NL), KERNEL(IQ4_XS),  KERNEL(TQ1_0), KERNEL(TQ2_0),
	KERNEL(MXFP4),  KERNEL(NVFP4),  KERNEL(Q1_0),    KERNEL(Q2_0),   KERNEL(Q6_0),
	KERNEL(IQ1_BN), KERNEL(IQ2_BN), KERNEL(IQ2_K),   KERNEL(IQ3_K),  KERNEL(IQ4_K),
	KERNEL(IQ5_K),  KERNEL(IQ6_K),  KERNEL(IQ2_KS),  KERNEL(IQ3_KS), KERNEL(IQ4_KS),
	KERNEL(IQ5_KS), KERNEL(IQ2_KL), KERNEL(IQ4_KSS), KERNEL(IQ1_KT), KERNEL(IQ2_KT),
	KERNEL(IQ3_KT), KERNEL(IQ4_KT), KERNEL(Q8_KV),   KERNEL(Q8_A),
	{.run = NULL},
};
