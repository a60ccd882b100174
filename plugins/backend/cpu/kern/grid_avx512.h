/* SPDX-License-Identifier: MIT
 *
 * grid_avx512.h - types whose values are points of a grid (iq_tables.h): the order, the factors and
 * the signs of a block of 256 of one row.
 *
 * A group is eight values.  A block has 32 groups, which are put into four vectors x[0..3] so that
 * a qword of each vector belongs to the same factor; sums of products can then be added from vector
 * to vector.  With one factor for 32 values, qword n of x[m] is group 4n + m.  With one for 16
 * values (kern_has_fine_factors) x[0] and x[1] have the blocks of 32 with an even number, x[2] and
 * x[3] the others, and qword n of x[m] is group 8(n/2) + 4(m/2) + 2(n%2) + m%2. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_AVX512_H

#include <string.h>

#include "x86.h"

/* Parts of a block that are read back from memory one by one.  That is fast only some time after
 * they have been written, so they are prepared for eight rows. */
struct grid_parts {
	uint16_t index[32]; /* not for all types: kern_has_parted_indices */
	uint64_t minus[4];  /* IQ2, IQ3: a bit for each byte of x that is negative */
};

/* A block of 256 of one row.  IQ2, IQ3: magnitudes.  IQ1: 8 * v + 16. */
struct grid {
	__m512i x[4];
	__m512i sc;        /* the 16 factors, in the order of the values */
	__mmask8 less[4];  /* IQ1: a bit for each qword of x that has the - 1 */
};

INLINE bool kern_has_fine_factors(uint32_t dtype)
{
	return dtype == LMD_DTYPE_IQ2_XS || dtype == LMD_DTYPE_IQ2_S || dtype == LMD_DTYPE_IQ1_M;
}

INLINE bool kern_has_groups_of_4(uint32_t dtype)
{
	return dtype == LMD_DTYPE_IQ3_XXS || dtype == LMD_DTYPE_IQ3_S;
}

INLINE uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Four bytes, words or dwords in each 128-bit lane, the same in all lanes. */
INLINE __m512i in_lanes(int a, int b, int c, int d)
{
	return _mm512_broadcast_i32x4(_mm_setr_epi32(a, b, c, d));
}

/* (v & mask) | with */
INLINE __m512i and_or(__m512i v, __m512i mask, __m512i with)
{
	return _mm512_ternarylogic_epi32(v, mask, with, 0xea);
}

/* ---- factors ---- */

/* 2 * n + 1 for the n of `bits` bits that begins at bit `at` of each dword. */
INLINE __m512i odd_factors(__m512i v, __m512i at, int bits)
{
	v = _mm512_rorv_epi32(v, _mm512_sub_epi32(at, _mm512_set1_epi32(1)));
	return and_or(v, _mm512_set1_epi32((1 << bits) * 2 - 2), _mm512_set1_epi32(1));
}

/* Dword 0 of p in lanes 0-7, dword 1 in lanes 8-15. */
INLINE __m512i two_dwords(const uint8_t *p)
{
	const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);

	return _mm512_permutexvar_epi32(
		lanes, _mm512_castsi128_si512(_mm_loadl_epi64((const void *)p)));
}

/* The 16 factors of the block at b. */
INLINE __m512i grid_factors(uint32_t dtype, const uint8_t *b)
{
	const __m512i nibbles =
		_mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
	const __m512i twice =
		_mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28);
	const __m512i threes =
		_mm512_setr_epi32(0, 3, 6, 9, 16, 19, 22, 25, 0, 3, 6, 9, 16, 19, 22, 25);
	__m512i v;

	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
		v = _mm512_shuffle_epi32(_mm512_loadu_si512(b + 2), 0xf5);
		return odd_factors(v, _mm512_set1_epi32(28), 4);
	case LMD_DTYPE_IQ3_XXS:
		v = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(b + 66)));
		return odd_factors(_mm512_shuffle_epi32(v, 0xa0), _mm512_set1_epi32(28), 4);
	case LMD_DTYPE_IQ3_S:
		return odd_factors(_mm512_set1_epi32((int)load32(b + 106)), twice, 4);
	case LMD_DTYPE_IQ1_M:
		return odd_factors(two_dwords(b + 48), threes, 3);
	default: /* IQ2_XS, IQ2_S */
		return odd_factors(two_dwords(b + (dtype == LMD_DTYPE_IQ2_XS ? 66 : 74)), nibbles,
				   4);
	}
}

/* ---- signs ---- */

/* Puts the four 7-bit indices of each dword into bytes. */
INLINE __m256i sevens(__m256i v)
{
	__m256i s = _mm256_and_si256(v, _mm256_set1_epi32(0x7f));

	s = _mm256_ternarylogic_epi32(_mm256_slli_epi32(v, 1), _mm256_set1_epi32(0x7f00), s, 0xea);
	s = _mm256_ternarylogic_epi32(_mm256_slli_epi32(v, 2), _mm256_set1_epi32(0x7f0000), s,
				      0xea);
	return _mm256_ternarylogic_epi32(_mm256_slli_epi32(v, 3), _mm256_set1_epi32(0x7f000000), s,
					 0xea);
}

/* Adds an eighth sign to seven, so that the number of minus signs is even. */
INLINE __m256i even_signs(__m256i v)
{
	const __m256i odd = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128,
			      0));
	__m256i n = _mm256_xor_si256(v, _mm256_srli_epi16(v, 4));

	n = _mm256_and_si256(n, _mm256_set1_epi8(15));
	return _mm256_or_si256(v, _mm256_shuffle_epi8(odd, n));
}

/* Signs of the 32 groups, a byte for each. */
INLINE __m256i group_signs(uint32_t dtype, const uint8_t *b)
{
	__m512i v;

	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
		v = _mm512_srli_epi64(_mm512_loadu_si512(b + 2), 32);
		return even_signs(sevens(_mm512_cvtepi64_epi32(v)));
	case LMD_DTYPE_IQ2_XS:
		v = _mm512_srli_epi16(_mm512_loadu_si512(b + 2), 9);
		return even_signs(_mm512_cvtepi16_epi8(v));
	case LMD_DTYPE_IQ3_XXS:
		return even_signs(sevens(_mm256_loadu_si256((const void *)(b + 66))));
	default: /* IQ2_S, IQ3_S */
		return _mm256_loadu_si256(
			(const void *)(b + (dtype == LMD_DTYPE_IQ2_S ? 34 : 74)));
	}
}

/* Orders the signs as the values of x. */
INLINE void grid_signs(uint32_t dtype, const uint8_t *b, uint64_t minus[4])
{
	const __m128i order =
		kern_has_fine_factors(dtype)
			? _mm_setr_epi8(0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15)
			: _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	__m256i v = group_signs(dtype, b);

	v = _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(order));
	v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
	_mm256_storeu_si256((void *)minus, v);
}

/* ---- order ---- */

/* Transposes the 128-bit lanes of four vectors. */
INLINE void transpose_lanes(__m512i v[4])
{
	__m512i a = _mm512_shuffle_i32x4(v[0], v[1], 0x44);
	__m512i b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
	__m512i c = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
	__m512i d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);

	v[0] = _mm512_shuffle_i32x4(a, c, 0x88);
	v[1] = _mm512_shuffle_i32x4(a, c, 0xdd);
	v[2] = _mm512_shuffle_i32x4(b, d, 0x88);
	v[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}

/* From the order of x to that of the values. */
INLINE void to_values(uint32_t dtype, __m512i x[4])
{
	const bool fine = kern_has_fine_factors(dtype);
	__m512i low = _mm512_unpacklo_epi64(x[2], x[3]), high = _mm512_unpackhi_epi64(x[0], x[1]);

	x[0] = _mm512_unpacklo_epi64(x[0], x[1]);
	x[3] = _mm512_unpackhi_epi64(x[2], x[3]);
	x[1] = fine ? high : low;
	x[2] = fine ? low : high;
	transpose_lanes(x);
}

/* From the order of the values to that of x. */
INLINE void from_values(uint32_t dtype, __m512i v[4])
{
	const bool fine = kern_has_fine_factors(dtype);
	__m512i second, third;

	transpose_lanes(v);
	second = v[fine ? 1 : 2];
	third = v[fine ? 2 : 1];
	v[1] = _mm512_unpackhi_epi64(v[0], second);
	v[0] = _mm512_unpacklo_epi64(v[0], second);
	v[2] = _mm512_unpacklo_epi64(third, v[3]);
	v[3] = _mm512_unpackhi_epi64(third, v[3]);
}

/* d of a block, as f16. */
INLINE uint32_t grid_d(uint32_t dtype, const uint8_t *b)
{
	if (dtype == LMD_DTYPE_IQ1_M)
		return (uint32_t)_pext_u64(load64(b + 48), 0xf000f000f000f000);
	return load16(b);
}

/* D of eight rows. */
INLINE __m256 grid_ds(uint32_t dtype, const uint8_t *const w[8], size_t at)
{
	__m128i v = _mm_setr_epi16(
		(short)grid_d(dtype, w[0] + at), (short)grid_d(dtype, w[1] + at),
		(short)grid_d(dtype, w[2] + at), (short)grid_d(dtype, w[3] + at),
		(short)grid_d(dtype, w[4] + at), (short)grid_d(dtype, w[5] + at),
		(short)grid_d(dtype, w[6] + at), (short)grid_d(dtype, w[7] + at));

	return _mm256_mul_ps(_mm256_cvtph_ps(v), _mm256_set1_ps(kern_point_unit(dtype)));
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_AVX512_H */
