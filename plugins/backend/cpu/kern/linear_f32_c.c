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

#define KERNEL(ID, name, number)                                                                   \
	{                                                                                          \
		.dtype = LMD_DTYPE_##ID, .act = KERN_ACT_F32, .isa = "c",                          \
		.scratch_bytes = scratch_bytes, .run = run                                         \
	},

const struct kern_linear kern_float_c[] = {
	KERNEL(F32, f32, 0) KERNEL(F16, f16, 0) KERNEL(BF16, bf16, 0) KERNEL(F64, f64, 0)
	LMD_DTYPES_WEIGHT(KERNEL)
	{.run = NULL},
};
