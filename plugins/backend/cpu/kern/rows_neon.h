/* SPDX-License-Identifier: MIT
 *
 * rows_neon.h - unpacks blocks of 32 values of weight rows as they lie in the file.  types/NAME.h
 * unpacks a block of one row; four of them become a struct block4. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_ROWS_NEON_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_ROWS_NEON_H

#include <string.h>

#include "block_neon.h"
#include "codebooks.h"
#include "iq_tables.h"
#include "plain.h"
#include "scales.h"
#include "types.h"

/* A block of one row: values without their scales, in their order. */
struct block1 {
	int8x16_t q[2];
	float d, m;
	int32_t sc[2], mn[2];
};

INLINE float half(const uint8_t *p)
{
	__fp16 v;

	memcpy(&v, p, sizeof(v));
	return (float)v;
}

INLINE uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Bits [from, from + n) of each byte, n constant. */
INLINE uint8x16_t bits_of(uint8x16_t v, int from, int n)
{
	v = vshlq_u8(v, vdupq_n_s8((int8_t)-from));
	return vandq_u8(v, vdupq_n_u8((uint8_t)((1 << n) - 1)));
}

/* Bytes of zeros and ones: 255 in byte i of the block if bit i is set. */
INLINE void bytes_of_bits(uint32_t bits, uint8x16_t out[2])
{
	static const uint8_t byte[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
	static const uint8_t bit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t v = vreinterpretq_u8_u32(vdupq_n_u32(bits)), at = vld1q_u8(byte);

	out[0] = vtstq_u8(vqtbl1q_u8(v, at), vld1q_u8(bit));
	out[1] = vtstq_u8(vqtbl1q_u8(v, vaddq_u8(at, vdupq_n_u8(2))), vld1q_u8(bit));
}

INLINE int8x16_t minus(uint8x16_t v, int n)
{
	return vsubq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8((int8_t)n));
}

/* The 32 nibbles of 16 bytes, low nibbles first. */
INLINE void nibbles(const uint8_t *p, uint8x16_t q[2])
{
	uint8x16_t v = vld1q_u8(p);

	q[0] = vandq_u8(v, vdupq_n_u8(15));
	q[1] = vshrq_n_u8(v, 4);
}

/* Nibbles of 16 bytes minus n; with `fifth` each has a fifth bit there. */
INLINE void codes(const uint8_t *p, const uint8_t *fifth, int n, struct block1 *o)
{
	uint8x16_t q[2], bit[2];

	nibbles(p, q);
	if (fifth)
		bytes_of_bits(load32(fifth), bit);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		if (fifth)
			q[h] = vorrq_u8(q[h], vandq_u8(bit[h], vdupq_n_u8(16)));
		o->q[h] = minus(q[h], n);
	}
}

INLINE void books(const uint8_t *p, const int8_t *book, struct block1 *o)
{
	uint8x16_t q[2];

	nibbles(p, q);
	o->q[0] = vqtbl1q_s8(vld1q_s8(book), q[0]);
	o->q[1] = vqtbl1q_s8(vld1q_s8(book), q[1]);
}

/* Two-bit codes, minus n, of value e in byte e at bit `from`. */
INLINE void two_bits(const uint8_t *p, int from, int n, struct block1 *o)
{
	o->q[0] = minus(bits_of(vld1q_u8(p), from, 2), n);
	o->q[1] = minus(bits_of(vld1q_u8(p + 16), from, 2), n);
}

/* Two-bit codes, minus one, four to a byte, of 8 bytes. */
INLINE void spread(const uint8_t *p, struct block1 *o)
{
	static const int8_t by[16] = {0, -2, -4, -6, 0, -2, -4, -6, 0, -2, -4, -6, 0, -2, -4, -6};
	static const uint8_t byte[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
	uint8x16_t v = vcombine_u8(vld1_u8(p), vdup_n_u8(0)), at = vld1q_u8(byte);

#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		uint8x16_t q = vqtbl1q_u8(v, vaddq_u8(at, vdupq_n_u8((uint8_t)(4 * h))));

		q = vandq_u8(vshlq_u8(q, vld1q_s8(by)), vdupq_n_u8(3));
		o->q[h] = minus(q, 1);
	}
}

/* Block j < 8 of Q4_K, and of Q5_K with the fifth bits at qh: bit j of qh[l] belongs to value l. */
INLINE void codes_45(const uint8_t *b, const uint8_t *qh, const uint8_t *qs, int j,
		     struct block1 *o)
{
	const uint8_t *s = b + 4;
	int sc = s[j] & 63, mn = s[j + 4] & 63;

	if (j >= 4) {
		sc = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
		mn = s[j + 4] >> 4 | s[j] >> 6 << 4;
	}
	o->d = half(b) * (float)sc;
	o->m = -(half(b + 2) * (float)mn);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		uint8x16_t q = bits_of(vld1q_u8(qs + 32 * (j / 2) + 16 * h), j % 2 * 4, 4);

		if (qh)
			q = vorrq_u8(q, vshlq_n_u8(bits_of(vld1q_u8(qh + 16 * h), j, 1), 4));
		o->q[h] = vreinterpretq_s8_u8(q);
	}
}

/* Unpacks block j of 32 with plain_NAME. */
#define KERN_PLAIN(name, n)                                                                        \
	INLINE void row_##name(const uint8_t *b, int j, struct block1 *o)                          \
	{                                                                                          \
		struct kern_plain v;                                                               \
                                                                                                   \
		plain_##name(b, j, &v);                                                            \
		o->d = v.d;                                                                        \
		o->q[0] = vld1q_s8(v.q);                                                           \
		o->q[1] = vld1q_s8(v.q + 16);                                                      \
		memcpy(o->sc, v.sc, sizeof(o->sc));                                                \
	}

#define KERN_PART KERN_PART_NEON
#include "types.gen.h"

/* Block j < 8 of a type with points. */
INLINE void row_points(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *b, int j,
		       struct block1 *o)
{
	const uint32_t d = kern_point_d(dtype, b);
	const uint8_t bytes[2] = {(uint8_t)d, (uint8_t)(d >> 8)};
	uint8x16_t negative[2];
	uint64_t v[4];

	o->d = half(bytes) * kern_point_unit(dtype);
	bytes_of_bits(kern_points_32(dtype, t, b, j, v), negative);
	kern_point_scales(dtype, b, j, o->sc);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		int8x16_t q = vreinterpretq_s8_u64(
			vcombine_u64(vcreate_u64(v[2 * h]), vcreate_u64(v[2 * h + 1])));
		int8x16_t sign = vreinterpretq_s8_u8(negative[h]); /* 0 or -1 */

		if (kern_is_iq1(dtype)) /* plus 1 or -1 */
			q = vaddq_s8(vsubq_s8(q, vdupq_n_s8(16)), vorrq_s8(sign, vdupq_n_s8(1)));
		else
			q = vsubq_s8(veorq_s8(q, sign), sign);
		o->q[h] = q;
	}
}

/* Block j of 32 in the block at b. */
INLINE void row_block(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *b, int j,
		      struct block1 *o)
{
#define CASE(ID, name, ...)                                                                        \
	case LMD_DTYPE_##ID:                                                                       \
		row_##name(b, j, o);                                                               \
		break;
	switch (dtype) {
		HOST_MEM_INT8_TYPES_32(CASE)
		HOST_MEM_INT8_TYPES_LARGE(CASE)
		HOST_MEM_INT8_TYPES_LOW(CASE)
		HOST_MEM_INT8_TYPES_IK(CASE)
	default:
		row_points(dtype, points, b, j, o);
		break;
	}
#undef CASE
}

/* Vectors with dword j of four vectors. */
INLINE void transpose(const int8x16_t in[4], int8x16_t out[4])
{
	int32x4_t a = vreinterpretq_s32_s8(in[0]), b = vreinterpretq_s32_s8(in[1]);
	int32x4_t c = vreinterpretq_s32_s8(in[2]), d = vreinterpretq_s32_s8(in[3]);
	int64x2_t t0 = vreinterpretq_s64_s32(vtrn1q_s32(a, b));
	int64x2_t t1 = vreinterpretq_s64_s32(vtrn2q_s32(a, b));
	int64x2_t t2 = vreinterpretq_s64_s32(vtrn1q_s32(c, d));
	int64x2_t t3 = vreinterpretq_s64_s32(vtrn2q_s32(c, d));

	out[0] = vreinterpretq_s8_s64(vtrn1q_s64(t0, t2));
	out[1] = vreinterpretq_s8_s64(vtrn1q_s64(t1, t3));
	out[2] = vreinterpretq_s8_s64(vtrn2q_s64(t0, t2));
	out[3] = vreinterpretq_s8_s64(vtrn2q_s64(t1, t3));
}

/* Block j of 32 in the blocks at `at` of four rows. */
INLINE void rows_block(uint32_t dtype, const struct kern_iq_tables *points,
		       const uint8_t *const w[FOUR], size_t at, int j, struct block4 *c)
{
	struct block1 r[FOUR];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < FOUR; i++)
		row_block(dtype, points, w[i] + at, j, &r[i]);
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		const int8x16_t q[4] = {r[0].q[h], r[1].q[h], r[2].q[h], r[3].q[h]};

		transpose(q, c->q + 4 * h);
		if (kern_has_halves(dtype))
			c->sc[h] = (int32x4_t){r[0].sc[h], r[1].sc[h], r[2].sc[h], r[3].sc[h]};
		if (kern_has_minima(dtype))
			c->mn[h] = (int32x4_t){r[0].mn[h], r[1].mn[h], r[2].mn[h], r[3].mn[h]};
	}
	c->d = (float32x4_t){r[0].d, r[1].d, r[2].d, r[3].d};
	if (kern_row_head(dtype)) {
		const int head = (int)kern_row_head(dtype);
		const float32x4_t row_d = {kern_row_d(w[0], head), kern_row_d(w[1], head),
					   kern_row_d(w[2], head), kern_row_d(w[3], head)};

		c->d = vmulq_f32(c->d, row_d);
	}
	if (kern_has_m(dtype))
		c->m = (float32x4_t){r[0].m, r[1].m, r[2].m, r[3].m};
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_ROWS_NEON_H */
