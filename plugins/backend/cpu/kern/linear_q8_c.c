/* SPDX-License-Identifier: MIT
 *
 * Exact products, portable.  Eight weight rows at a time are unpacked to integers with their
 * factors and offsets (unpack.h) and multiplied with all rows of x. */
#include "unpack.h"
#include "variants.h"

#define TILE 8

static size_t scratch_bytes(uint32_t k)
{
	return ((size_t)(k + k / 16) * sizeof(int16_t) + k / 32 * 2 * sizeof(float)) * TILE /
		       KERN_ALIGN * KERN_ALIGN +
	       KERN_ALIGN;
}

/* Sums of p*q over the first 16 and over the last 16 values of a block. */
static void half_sums(const int16_t *p, const int8_t *q, int32_t s[2])
{
	s[0] = s[1] = 0;
	for (int j = 0; j < 16; j++) {
		s[0] += p[j] * q[j];
		s[1] += p[j + 16] * q[j + 16];
	}
}

static float dot(const struct kern_row *w, uint32_t has, const char *x, uint32_t k)
{
	const int8_t *q = (const int8_t *)x;
	const int32_t *h = (const int32_t *)(const void *)(x + KERN_Q8_H(k));
	const float *d = (const float *)(const void *)(x + KERN_Q8_D(k));
	const float *e = (const float *)(const void *)(x + KERN_Q8_E(k));
	float sum = 0;

	for (uint32_t b = 0; b < k / 32; b++) {
		int32_t s[2];
		float t;

		half_sums(w->p + 32 * b, q + 32 * b, s);
		if (has & HOST_MEM_INT8_TWO_D) {
			sum += (w->d[b] * d[b]) * (float)s[0] + (w->m[b] * d[b]) * (float)s[1];
			continue;
		}
		t = (w->d[b] * d[b]) * (float)(s[0] + s[1]);
		if (has & HOST_MEM_INT8_MIN)
			t += w->m[b] * e[b];
		if (has & HOST_MEM_INT8_MINIMA)
			t += (w->m[b] * d[b]) *
			     (float)-(w->mn[2 * b] * h[2 * b] + w->mn[2 * b + 1] * h[2 * b + 1]);
		sum += t;
	}
	return sum;
}

static void run(const struct kern_linear *self, const struct kern_product *p)
{
	const struct host_mem_int8_type *t = host_mem_int8_type(self->dtype);
	size_t nb = p->k / 32;
	struct kern_row rows[TILE];

	for (size_t i = 0; i < TILE; i++) {
		rows[i].d = (float *)p->scratch + 2 * i * nb;
		rows[i].m = rows[i].d + nb;
		rows[i].p = (int16_t *)(void *)((float *)p->scratch + 2 * TILE * nb) +
			    i * (p->k + 2 * nb);
		rows[i].mn = rows[i].p + p->k;
	}
	for (uint32_t r = 0; r < p->n_row; r += TILE) {
		uint32_t n = p->n_row - r < TILE ? p->n_row - r : TILE;

		for (uint32_t i = 0; i < n; i++)
			kern_unpack(t, p->points, (const uint8_t *)p->w + (r + i) * p->w_stride,
				    p->k, &rows[i]);
		for (uint32_t c = 0; c < p->n_col; c++)
			for (uint32_t i = 0; i < n; i++)
				p->y[c][r + i] = dot(&rows[i], t->has, p->x[c], p->k);
	}
}

#define KERNEL(ID, ...)                                                                            \
	{.dtype = LMD_DTYPE_##ID,                                                                  \
	 .act = KERN_ACT_Q8,                                                                       \
	 .isa = "c",                                                                               \
	 .exact = true,                                                                            \
	 .scratch_bytes = scratch_bytes,                                                           \
	 .run = run},

const struct kern_linear kern_exact_c[] = {
	HOST_MEM_INT8_TYPES(KERNEL)
	{.run = NULL},
};
