/* SPDX-License-Identifier: MIT
 *
 * Unpacks blocks to integers with their factors and offsets; types/NAME.h defines them for a
 * type. */
#include "unpack.h"

#include "codebooks.h"
#include "plain.h"
#include "scales.h"
#include "types.h"

/* Unpacks 16 bytes of nibbles, low nibbles first; bit j of `fifth` is the fifth bit of code j. */
static void codes(const uint8_t *qs, const uint8_t *fifth, int minus, int16_t *p)
{
	for (int j = 0; j < 32; j++) {
		int q = j < 16 ? qs[j] & 15 : qs[j - 16] >> 4;

		if (fifth)
			q |= (fifth[j / 8] >> (j % 8) & 1) << 4;
		p[j] = (int16_t)(q - minus);
	}
}

/* Q4_K, and Q5_K with the fifth bits at qh: bit j of qh[l] belongs to value l of sub-block j. */
static void unpack_k45(const uint8_t *b, const uint8_t *qh, const uint8_t *qs,
		       const struct kern_row *o)
{
	const uint8_t *s = b + 4;
	int16_t *p = o->p;

	for (int j = 0; j < 8; j++, p += 32) {
		int sc = s[j] & 63, mn = s[j + 4] & 63;

		if (j >= 4) {
			sc = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
			mn = s[j + 4] >> 4 | s[j] >> 6 << 4;
		}
		o->d[j] = kern_f16(b) * (float)sc;
		o->m[j] = -(kern_f16(b + 2) * (float)mn);
		for (int l = 0; l < 32; l++) {
			int q = qs[j / 2 * 32 + l] >> (j % 2 * 4) & 15;

			p[l] = (int16_t)(qh ? q | (qh[l] >> j & 1) << 4 : q);
		}
	}
}

static void books(const uint8_t *qs, const int8_t *book, int16_t *p)
{
	codes(qs, NULL, 0, p);
	for (int j = 0; j < 32; j++)
		p[j] = book[p[j]];
}

static void same_factor(float d, const struct kern_row *o, int n)
{
	for (int j = 0; j < n; j++) {
		o->d[j] = d;
		o->m[j] = 0;
	}
}

static void plain_block(const struct kern_plain *v, int j, const struct kern_row *o)
{
	o->d[j] = v->d;
	o->m[j] = 0;
	for (int e = 0; e < 32; e++)
		o->p[32 * j + e] = (int16_t)(v->sc[e / 16] * v->q[e]);
}

/* Unpacks the n blocks of 32 of a block with plain_NAME. */
#define KERN_PLAIN(name, n)                                                                        \
	static void unpack_##name(const uint8_t *b, const struct kern_row *o)                      \
	{                                                                                          \
		for (int j = 0; j < (n); j++) {                                                    \
			struct kern_plain v;                                                       \
                                                                                                   \
			plain_##name(b, j, &v);                                                    \
			plain_block(&v, j, o);                                                     \
		}                                                                                  \
	}

#define KERN_PART KERN_PART_C
#include "types.gen.h"

static void unpack_points(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *b,
			  const struct kern_row *o)
{
	const uint32_t half = kern_point_d(dtype, b);
	const uint8_t bytes[2] = {(uint8_t)half, (uint8_t)(half >> 8)};
	bool iq1 = kern_is_iq1(dtype);

	same_factor(kern_f16(bytes) * kern_point_unit(dtype), o, 8);
	for (int j = 0; j < 8; j++) {
		uint64_t v[4];
		uint32_t minus = kern_points_32(dtype, t, b, j, v);
		int32_t sc[2];

		kern_point_scales(dtype, b, j, sc);
		for (int e = 0; e < 32; e++) {
			int value = (int)(v[e / 8] >> (e % 8 * 8) & 255),
			    sign = minus >> e & 1 ? -1 : 1;

			value = iq1 ? value - 16 + sign : value * sign;
			o->p[32 * j + e] = (int16_t)(sc[e / 16] * value);
		}
	}
}

static void unpack_block(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *b,
			 const struct kern_row *o)
{
#define CASE(ID, name, ...)                                                                        \
	case LMD_DTYPE_##ID:                                                                       \
		unpack_##name(b, o);                                                               \
		break;
	switch (dtype) {
		HOST_MEM_INT8_TYPES_32(CASE)
		HOST_MEM_INT8_TYPES_LARGE(CASE)
		HOST_MEM_INT8_TYPES_LOW(CASE)
		HOST_MEM_INT8_TYPES_IK(CASE)
	default:
		unpack_points(dtype, points, b, o);
		break;
	}
#undef CASE
}

void kern_unpack(const struct host_mem_int8_type *t, const struct kern_iq_tables *points,
		 const uint8_t *block, uint32_t k, const struct kern_row *out)
{
	const uint8_t *row = block;

	if (t->has & HOST_MEM_INT8_ROW_D)
		block += t->d;
	for (uint32_t at = 0; at < k; at += t->values, block += t->bytes) {
		struct kern_row o = {out->p + at, out->d + at / 32, out->m + at / 32,
				     out->mn + at / 16};

		unpack_block(t->dtype, points, block, &o);
	}
	if (t->has & HOST_MEM_INT8_ROW_D)
		for (uint32_t i = 0; i < k / 32; i++)
			out->d[i] *= kern_row_d(row, t->d);
}
