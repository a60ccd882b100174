/* SPDX-License-Identifier: MIT
 *
 * grid_points_avx512.h - types whose values are points of a grid: the points of a block of 256 of
 * one row, without VBMI.  Points of eight values are loaded one by one, points of four values are
 * looked up in registers. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_POINTS_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_POINTS_AVX512_H

#include "grid_avx512.h"

/* ---- points of eight values ---- */

/* Group number that becomes qword n of x[m]. */
INLINE size_t group_at(uint32_t dtype, size_t m, size_t n)
{
	return kern_has_fine_factors(dtype) ? 8 * (n / 2) + 4 * (m / 2) + 2 * (n % 2) + m % 2
					    : 4 * n + m;
}

INLINE __m128i two_points(const uint64_t *t, uint32_t a, uint32_t b)
{
	__m128 v = _mm_castsi128_ps(_mm_loadl_epi64((const void *)(t + a)));

	return _mm_castps_si128(_mm_loadh_pi(v, (const void *)(t + b)));
}

INLINE __m512i eight_points(const uint64_t *t, const uint32_t i[8])
{
	__m256i low = _mm256_setr_m128i(two_points(t, i[0], i[1]), two_points(t, i[2], i[3]));
	__m256i high = _mm256_setr_m128i(two_points(t, i[4], i[5]), two_points(t, i[6], i[7]));

	return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* The qh of IQ1_S, each repeated four times; for IQ1_M each nibble in a word, with other bits
 * above. */
INLINE __m512i iq1_high(uint32_t dtype, const uint8_t *b)
{
	__m512i v;

	if (dtype == LMD_DTYPE_IQ1_S) {
		v = _mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)(b + 34)));
		return _mm512_shuffle_epi8(
			v, in_lanes(0x01000100, 0x01000100, 0x09080908, 0x09080908));
	}
	v = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(b + 32)));
	return _mm512_or_si512(v, _mm512_slli_epi32(v, 12));
}

/* Which qwords of x have the - 1, from iq1_high. */
INLINE void iq1_less(uint32_t dtype, __m512i high, __mmask8 less[4])
{
	const __m512i order = _mm512_shuffle_epi32(high, 0xd8);

#pragma GCC unroll 4
	for (int m = 0; m < 4; m++)
		less[m] = dtype == LMD_DTYPE_IQ1_S
				  ? _mm512_movepi64_mask(high)
				  : _mm512_test_epi64_mask(order,
							   _mm512_set1_epi64(8ll << 16 * m));
}

/* Indices of the 32 groups; `high`: iq1_high for IQ1. */
INLINE __m512i grid_indices(uint32_t dtype, const uint8_t *b, __m512i high)
{
	const size_t qs = dtype == LMD_DTYPE_IQ1_M ? 0 : 2;
	__m512i low;

	if (dtype == LMD_DTYPE_IQ2_XS)
		return _mm512_and_si512(_mm512_loadu_si512(b + 2), _mm512_set1_epi16(511));
	low = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(b + qs)));
	if (dtype == LMD_DTYPE_IQ2_S) {
		high = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)(b + 66)));
		high = _mm512_shuffle_epi8(high, in_lanes((int)0x80008000, (int)0x80008000,
							  (int)0x80088008, (int)0x80088008));
		high = _mm512_sllv_epi16(high, _mm512_set1_epi64(0x0002000400060008));
		return and_or(high, _mm512_set1_epi16(0x300), low);
	}
	if (dtype == LMD_DTYPE_IQ1_S)
		high = _mm512_srlv_epi16(high, _mm512_set1_epi64(0x0009000600030000));
	return and_or(_mm512_slli_epi16(high, 8), _mm512_set1_epi16(0x700), low);
}

/* Indices are not bytes of the block. */
INLINE bool kern_has_parted_indices(uint32_t dtype)
{
	return kern_is_iq1(dtype) || dtype == LMD_DTYPE_IQ2_XS || dtype == LMD_DTYPE_IQ2_S;
}

INLINE void points_of_8(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *b,
			const struct grid_parts *parts, __m512i x[4])
{
	const uint64_t *points = dtype == LMD_DTYPE_IQ2_XXS  ? t->iq2_xxs
				 : dtype == LMD_DTYPE_IQ2_XS ? t->iq2_xs
				 : dtype == LMD_DTYPE_IQ2_S  ? t->iq2_s
							     : t->iq1;
#pragma GCC unroll 8
	for (size_t m = 0; m < 4; m++) {
		uint32_t i[8];

#pragma GCC unroll 8
		for (size_t n = 0; n < 8; n++)
			i[n] = kern_has_parted_indices(dtype) ? parts->index[group_at(dtype, m, n)]
							      : b[2 + 8 * n + m];
		x[m] = eight_points(points, i);
	}
}

/* ---- points of four values ---- */

/* Element i[n] of a table of 256 words. */
INLINE __m512i look_up_256(const uint16_t *t, __m512i i)
{
	const __mmask32 second = _mm512_test_epi16_mask(i, _mm512_set1_epi16(64));
	__m512i v[4];

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++)
		v[j] = _mm512_permutex2var_epi16(_mm512_loadu_si512(t + 64 * j), i,
						 _mm512_loadu_si512(t + 64 * j + 32));
	return _mm512_mask_blend_epi16(_mm512_test_epi16_mask(i, _mm512_set1_epi16(128)),
				       _mm512_mask_blend_epi16(second, v[0], v[1]),
				       _mm512_mask_blend_epi16(second, v[2], v[3]));
}

/* A bit for each of the 32 indices of x[2h] and x[2h + 1] whose ninth bit is set (IQ3_S). */
INLINE __mmask32 ninth_bits(const uint8_t *b, int h)
{
	const __m512i lanes = _mm512_setr_epi64(0, 0, 0x0002000200020002, 0x0002000200020002,
						0x0004000400040004, 0x0004000400040004,
						0x0006000600060006, 0x0006000600060006);
	const __m512i byte = _mm512_add_epi16(lanes, in_lanes((int)0x80008000, (int)0x80018001,
							      (int)0x80008000, (int)0x80018001));
	const __m512i bit = h ? in_lanes(0x00200010, 0x00200010, 0x00800040, 0x00800040)
			      : in_lanes(0x00020001, 0x00020001, 0x00080004, 0x00080004);
	__m512i v = _mm512_set1_epi64((long long)load64(b + 66));

	return _mm512_test_epi16_mask(_mm512_shuffle_epi8(v, byte), bit);
}

/* Values of a point are nibbles of a word of the table. */
INLINE void points_of_4(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *b,
			__m512i x[4])
{
	const __m512i qs = _mm512_loadu_si512(b + 2), nibble = _mm512_set1_epi16(0x0f0f);
	const __m512i levels = _mm512_broadcast_i32x4(
		_mm_loadu_si128((const void *)kern_codebook_iq3_xxs));

#pragma GCC unroll 2
	for (int h = 0; h < 2; h++) {
		__m512i order = h ? in_lanes((int)0x80058004, (int)0x800d800c, (int)0x80078006,
					     (int)0x800f800e)
				  : in_lanes((int)0x80018000, (int)0x80098008, (int)0x80038002,
					     (int)0x800b800a);
		__m512i i = _mm512_shuffle_epi8(qs, order), v, low, high;

		if (dtype == LMD_DTYPE_IQ3_S)
			v = _mm512_mask_blend_epi16(ninth_bits(b, h),
						    look_up_256(t->iq3_s_nibbles, i),
						    look_up_256(t->iq3_s_nibbles + 256, i));
		else
			v = look_up_256(t->iq3_xxs_nibbles, i);
		low = _mm512_and_si512(v, nibble);
		high = _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble);
		x[2 * h] = _mm512_unpacklo_epi8(low, high);
		x[2 * h + 1] = _mm512_unpackhi_epi8(low, high);
	}
#pragma GCC unroll 4
	for (int m = 0; dtype == LMD_DTYPE_IQ3_XXS && m < 4; m++)
		x[m] = _mm512_shuffle_epi8(levels, x[m]);
}

/* ---- blocks ---- */

INLINE void grid_read(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *b,
		      const struct grid_parts *parts, struct grid *g)
{
	__m512i high = _mm512_setzero_si512();

	if (kern_is_iq1(dtype)) {
		high = iq1_high(dtype, b);
		iq1_less(dtype, high, g->less);
	}
	g->sc = dtype == LMD_DTYPE_IQ1_S ? odd_factors(high, _mm512_set1_epi32(28), 3)
					 : grid_factors(dtype, b);
	if (kern_has_groups_of_4(dtype))
		points_of_4(dtype, t, b, g->x);
	else
		points_of_8(dtype, t, b, parts, g->x);
}

/* Replaces x by codes that exceed the values by 2^kern_code_shift, or by 15 for IQ1. */
INLINE void grid_codes(uint32_t dtype, const struct grid_parts *parts, struct grid *g)
{
	const __m512i z = _mm512_set1_epi8((char)(1 << kern_code_shift(dtype)));

#pragma GCC unroll 4
	for (uint32_t m = 0; m < 4; m++) {
		__m512i v = g->x[m];

		if (kern_is_iq1(dtype))
			g->x[m] = _mm512_mask_sub_epi64(v, g->less[m], v,
							_mm512_set1_epi8(2));
		else
			g->x[m] = _mm512_mask_sub_epi8(_mm512_add_epi8(z, v), parts->minus[m], z, v);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_POINTS_AVX512_H */
