/* SPDX-License-Identifier: MIT
 *
 * Exact products with repacked weights, portably: what kern.h defines, read from packed.h. */
#include "iq_tables.h"
#include "packed.h"
#include "scales.h"
#include "variants.h"

/* Integer of value e of a block, without its scale; c: the row's first byte in the block. */
static int value(uint32_t dtype, const char *c, uint32_t e)
{
	const uint8_t *u = (const uint8_t *)c;
	uint32_t j = e / 4, i = e % 4, bits = kern_packed_bits(dtype), q;
	const int8_t *book = kern_packed_book(dtype);

	if (bits < 4)
		q = (u[64 * (j / 4) + i] >> (j % 4 * 2) & 3) |
		    (bits == 3 ? (uint32_t)(u[128 + i] >> j & 1) << 2 : 0);
	else
		q = u[64 * (j % 4) + i] >> (j / 4 * 4) & 15;
	if (book)
		return book[q];
	switch (dtype) {
	case LMD_DTYPE_Q8_0:
		return u[64 * j + i] - 128;
	case LMD_DTYPE_TQ1_0:
		return (int)q - 2;
	case LMD_DTYPE_Q3_K:
		return (int)q - 4;
	case LMD_DTYPE_Q4_0:
		return (int)q - 8;
	case LMD_DTYPE_Q5_0:
		return (int)(q | (u[256 + i] >> j & 1) << 4) - 16;
	case LMD_DTYPE_Q5_1:
	case LMD_DTYPE_Q5_K:
		return (int)(q | (u[256 + i] >> j & 1) << 4);
	case LMD_DTYPE_Q6_K:
		return (int)(q | (u[256 + 64 * (j / 4) + i] >> (j % 4 * 2) & 3) << 4) - 32;
	default:
		return (int)q;
	}
}

struct factors {
	float d, m;
	int sc[2], mn[2];
};

static struct factors factors_of(uint32_t dtype, const char *s, size_t b, uint32_t r)
{
	const size_t i = b % 8;
	struct factors f = {.d = kern_f16((const uint8_t *)s + 2 * r), .sc = {1, 1}};

	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_F16:
		break;
	case KERN_SCALES_DM:
		f.m = kern_f16((const uint8_t *)s + 32 + 2 * r);
		break;
	case KERN_SCALES_E8:
		f.d = kern_power((uint8_t)s[r]);
		break;
	case KERN_SCALES_TWO_E8:
		f.d = kern_half_e4m3((uint8_t)s[r]);
		f.m = kern_half_e4m3((uint8_t)s[16 + r]);
		break;
	case KERN_SCALES_K:
		f.d *= (float)(signed char)s[32 + 16 * i + r];
		break;
	case KERN_SCALES_K_DM:
		f.d *= (float)(uint8_t)s[64 + 32 * i + r];
		f.m = kern_f16((const uint8_t *)s + 32 + 2 * r) * (float)(uint8_t)s[80 + 32 * i + r];
		break;
	case KERN_SCALES_HALVES:
		if (kern_has_iq_tables(dtype))
			f.d *= kern_point_unit(dtype);
		f.sc[0] = (signed char)s[32 + 32 * i + r];
		f.sc[1] = (signed char)s[48 + 32 * i + r];
		break;
	case KERN_SCALES_HALVES_DM:
		f.m = kern_f16((const uint8_t *)s + 32 + 2 * r);
		for (uint32_t h = 0; h < 2; h++) {
			f.sc[h] = (uint8_t)s[64 + 32 * i + 16 * h + r] & 15;
			f.mn[h] = (uint8_t)s[64 + 32 * i + 16 * h + r] >> 4;
		}
		break;
	}
	return f;
}

static bool has_m(uint32_t dtype)
{
	return kern_packed_scales(dtype) == KERN_SCALES_DM ||
	       kern_packed_scales(dtype) == KERN_SCALES_K_DM;
}

static float dot(uint32_t dtype, const char *group, uint32_t r, const char *x, uint32_t k)
{
	const int8_t *q = (const int8_t *)x;
	const float *d = (const float *)(const void *)(x + KERN_Q8_D(k));
	const float *e = (const float *)(const void *)(x + KERN_Q8_E(k));
	const char *scales = group + k / 32 * kern_packed_codes(dtype);
	float sum = 0;

	for (size_t b = 0; b < k / 32; b++) {
		const char *c = group + b * kern_packed_codes(dtype) + 4 * r;
		struct factors f =
			factors_of(dtype, scales + kern_packed_scale(dtype, b), b, r);
		int s[2] = {0, 0}, all[2] = {0, 0};
		float t;

		for (uint32_t i = 0; i < 32; i++) {
			s[i / 16] += value(dtype, c, i) * q[32 * b + i];
			all[i / 16] += q[32 * b + i];
		}
		switch (kern_packed_scales(dtype)) {
		case KERN_SCALES_TWO_E8:
			t = (f.d * d[b]) * (float)s[0] + (f.m * d[b]) * (float)s[1];
			break;
		case KERN_SCALES_HALVES_DM:
			t = (f.d * d[b]) * (float)(f.sc[0] * s[0] + f.sc[1] * s[1]) +
			    (f.m * d[b]) * (float)(f.mn[0] * all[0] + f.mn[1] * all[1]);
			break;
		default:
			t = (f.d * d[b]) * (float)(f.sc[0] * s[0] + f.sc[1] * s[1]);
			if (has_m(dtype))
				t += f.m * e[b];
		}
		sum += t;
	}
	return sum;
}

static void run(const struct kern_packed *self, const struct kern_product *p)
{
	for (uint32_t r = 0; r < p->n_row; r++)
		for (uint32_t c = 0; c < p->n_col; c++)
			p->y[c][r] = dot(self->dtype,
					 (const char *)p->w + r / KERN_GROUP * p->w_stride,
					 r % KERN_GROUP, p->x[c], p->k);
}

#define KERNEL(ID) {.dtype = LMD_DTYPE_##ID, .isa = "c", .most = UINT32_MAX, .run = run},

const struct kern_packed kern_packed_c[] = {
	KERN_PACKED_TYPES(KERNEL) KERN_PACKED_TYPES_AVX2(KERNEL){.run = NULL},
};
