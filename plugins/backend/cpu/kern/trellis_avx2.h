/* SPDX-License-Identifier: MIT
 *
 * trellis_avx2.h - values of the types with a trellis (codebooks.h), and codes of the ternary types
 * of ik_llama.cpp: block j of 32 of a row.  trellis_avx512.h has the same functions for pairs of
 * blocks. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_TRELLIS_AVX2_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_TRELLIS_AVX2_H

#include "codes_avx2.h"

/* Codes of signed values, which are the values. */
INLINE __m256i as_codes(__m256i v)
{
	return v;
}

/* Four powers of the factor, from number `from` on, in both halves. */
INLINE __m256i trellis_powers(int from)
{
	const uint32_t *p = kern_trellis_powers + from;

	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p));
}

/* Signed values of four vectors of x: those of half i of each, for i = 0 and 1. */
INLINE __m256i trellis_values(const __m256i x[4])
{
	__m256i v[4];

#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		v[i] = _mm256_and_si256(x[i], _mm256_set1_epi8(63));
		v[i] = _mm256_maddubs_epi16(v[i], _mm256_set1_epi8(1));
		v[i] = _mm256_madd_epi16(v[i], _mm256_set1_epi16(1));
		v[i] = _mm256_sub_epi32(v[i], _mm256_set1_epi32(126));
	}
	v[0] = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
	return v[0];
}

/* Points of eight values, whose indices are qwords. */
INLINE __m256i trellis_8(__m256i v)
{
	const __m256i low = trellis_powers(0), high = trellis_powers(4);
	__m256i a, b;

	v = _mm256_add_epi32(v, _mm256_set1_epi32(KERN_TRELLIS_FIRST));
	a = _mm256_shuffle_epi32(v, 0x00);
	b = _mm256_shuffle_epi32(v, 0xaa);
	return trellis_values((const __m256i[4]){
		_mm256_mullo_epi32(a, low), _mm256_mullo_epi32(a, high),
		_mm256_mullo_epi32(b, low), _mm256_mullo_epi32(b, high)});
}

/* Points of four values, whose indices are dwords. */
INLINE __m256i trellis_4(__m256i v)
{
	const __m256i p = trellis_powers(0);

	v = _mm256_add_epi32(v, _mm256_set1_epi32(KERN_TRELLIS_FIRST));
	return trellis_values((const __m256i[4]){
		_mm256_mullo_epi32(_mm256_shuffle_epi32(v, 0x00), p),
		_mm256_mullo_epi32(_mm256_shuffle_epi32(v, 0x55), p),
		_mm256_mullo_epi32(_mm256_shuffle_epi32(v, 0xaa), p),
		_mm256_mullo_epi32(_mm256_shuffle_epi32(v, 0xff), p)});
}

/* Indices of 16 bits. */
INLINE __m256i words_of_points(const uint8_t *p, int j)
{
	return _mm256_cvtepu16_epi64(_mm_loadl_epi64((const void *)(p + 8 * j)));
}

/* Indices of IQ1_KT. */
INLINE __m256i parted_points_8(const uint8_t *b, int j)
{
	const __m256i low = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)load32(b + 8 + 4 * j)));
	__m256i high = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)load32(b + 40 + 4 * (j % 4))));
	__m256i top = _mm256_srlv_epi64(_mm256_set1_epi64x(b[j]), _mm256_setr_epi64x(4, 5, 6, 7));

	high = _mm256_and_si256(_mm256_srli_epi64(high, 4 * (j / 4)), _mm256_set1_epi64x(15));
	top = _mm256_and_si256(top, _mm256_set1_epi64x(1));
	return _mm256_or_si256(_mm256_or_si256(low, _mm256_slli_epi64(high, 8)),
			       _mm256_slli_epi64(top, 12));
}

/* Indices of IQ4_KT. */
INLINE __m256i parted_points_4(const uint8_t *b, int j)
{
	const __m256i by = _mm256_setr_epi32(8, 11, 14, 17, 20, 23, 26, 29);
	const __m256i w = _mm256_set1_epi32((int)load32(b + 4 * j));
	__m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(b + 32 + 8 * j)));
	__m256i n = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(b + 96 + 8 * (j % 4))));
	__m256i top = _mm256_and_si256(_mm256_srlv_epi32(w, by), _mm256_set1_epi32(7));

	n = _mm256_and_si256(_mm256_srli_epi32(n, 4 * (j / 4)), _mm256_set1_epi32(15));
	v = _mm256_or_si256(v, _mm256_slli_epi32(n, 8));
	v = _mm256_or_si256(v, _mm256_slli_epi32(top, 12));
	return _mm256_or_si256(v, _mm256_slli_epi32(_mm256_and_si256(w, _mm256_set1_epi32(1)), 15));
}

/* The magnitudes of v, negative where bit j of the 32 bytes at p is set. */
INLINE __m256i with_signs(__m256i v, const uint8_t *p, int j)
{
	const __m256i bit = _mm256_set1_epi8((char)(1 << j));
	const __m256i minus = _mm256_cmpeq_epi8(_mm256_and_si256(ymm(p), bit), bit);

	return _mm256_sub_epi8(_mm256_xor_si256(_mm256_abs_epi8(v), minus), minus);
}

/* Two bits of each of 16 bytes for every 16 values. */
INLINE __m256i pairs_of_16(const uint8_t *p, int j)
{
	const __m256i by = _mm256_setr_epi32(4 * j, 4 * j, 4 * j, 4 * j, 4 * j + 2, 4 * j + 2,
					     4 * j + 2, 4 * j + 2);
	const __m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p));

	return and8(_mm256_srlv_epi32(v, by), 3);
}

/* The trits, 0 to 2, of IQ1_BN. */
INLINE __m256i trits_of_13(const uint8_t *b, int j)
{
	const __m256i at = ymm(kern_trit_bytes + 32 * j), times = ymm(kern_trit_powers + 32 * j);
	const __m256i low = _mm256_set1_epi16(255);
	__m128i first = _mm_loadl_epi64((const void *)b);
	__m128i last = _mm_loadl_epi64((const void *)(b + 5));
	__m256i v, even, odd;

	/* nothing after the 13 bytes is read */
	last = _mm_srli_epi64(last, 24);
	v = _mm256_broadcastsi128_si256(_mm_unpacklo_epi64(first, last));
	v = _mm256_shuffle_epi8(v, at);
	even = _mm256_and_si256(_mm256_mullo_epi16(v, times), low);
	odd = _mm256_mullo_epi16(_mm256_andnot_si256(low, v), _mm256_srli_epi16(times, 8));
	v = _mm256_or_si256(even, odd);
	/* 3 * v reaches 256 from 86 on, and 512 from 171 on. */
	even = _mm256_cmpeq_epi8(_mm256_max_epu8(v, _mm256_set1_epi8(86)), v);
	odd = _mm256_cmpeq_epi8(_mm256_max_epu8(v, _mm256_set1_epi8((char)171)), v);
	return _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(even, odd));
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_TRELLIS_AVX2_H */
