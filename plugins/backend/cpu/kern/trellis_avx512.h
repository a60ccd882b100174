/* SPDX-License-Identifier: MIT
 *
 * trellis_avx512.h - values of the types with a trellis (codebooks.h), and codes of the ternary
 * types of ik_llama.cpp: blocks 2p and 2p + 1 of 32 of a row. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_TRELLIS_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_TRELLIS_AVX512_H

#include "books_avx512.h"

/* Codes of signed values: 128 more. */
INLINE __m512i as_codes(__m512i v)
{
	return _mm512_xor_si512(v, _mm512_set1_epi8(-128));
}

/* Four powers of the factor, from number `from` on, in each quarter. */
INLINE __m512i trellis_powers(int from)
{
	const uint32_t *p = kern_trellis_powers + from;

	return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)p));
}

/* Signed values of four vectors of x: those of quarter i of each, for i = 0 to 3. */
INLINE __m512i trellis_values(const __m512i x[4])
{
	__m512i v[4];

#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
		v[i] = _mm512_dpbusd_epi32(_mm512_set1_epi32(-126),
					   _mm512_and_si512(x[i], _mm512_set1_epi8(63)),
					   _mm512_set1_epi8(1));
	return _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
}

/* Numbers x of points of eight values, whose indices are qwords: quarter i of x[j] has those of
 * values 16i + 4j to 16i + 4j + 3. */
INLINE void numbers_8(__m512i v, __m512i x[4])
{
	const __m512i low = trellis_powers(0), high = trellis_powers(4);
	__m512i a, b;

	v = _mm512_add_epi32(v, _mm512_set1_epi32(KERN_TRELLIS_FIRST));
	a = _mm512_shuffle_epi32(v, 0x00);
	b = _mm512_shuffle_epi32(v, 0xaa);
	x[0] = _mm512_mullo_epi32(a, low);
	x[1] = _mm512_mullo_epi32(a, high);
	x[2] = _mm512_mullo_epi32(b, low);
	x[3] = _mm512_mullo_epi32(b, high);
}

/* Numbers of points of four values, whose indices are dwords, in the same order. */
INLINE void numbers_4(__m512i v, __m512i x[4])
{
	const __m512i p = trellis_powers(0);

	v = _mm512_add_epi32(v, _mm512_set1_epi32(KERN_TRELLIS_FIRST));
	x[0] = _mm512_mullo_epi32(_mm512_shuffle_epi32(v, 0x00), p);
	x[1] = _mm512_mullo_epi32(_mm512_shuffle_epi32(v, 0x55), p);
	x[2] = _mm512_mullo_epi32(_mm512_shuffle_epi32(v, 0xaa), p);
	x[3] = _mm512_mullo_epi32(_mm512_shuffle_epi32(v, 0xff), p);
}

INLINE __m512i trellis_8(__m512i v)
{
	__m512i x[4];

	numbers_8(v, x);
	return trellis_values(x);
}

INLINE __m512i trellis_4(__m512i v)
{
	__m512i x[4];

	numbers_4(v, x);
	return trellis_values(x);
}

/* v | (bits & mask) */
INLINE __m512i with_bits(__m512i v, __m512i bits, int mask)
{
	return _mm512_ternarylogic_epi32(v, bits, _mm512_set1_epi32(mask), 0xf8);
}

/* Indices of 16 bits. */
INLINE __m512i words_of_points(const uint8_t *at, int p)
{
	return _mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)(at + 16 * p)));
}

/* Indices of IQ1_KT. */
INLINE __m512i parted_points_8(const uint8_t *b, int p)
{
	const __m512i blocks = _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1);
	const __m512i to_12 = _mm512_setr_epi64(8, 7, 6, 5, 8, 7, 6, 5);
	__m512i v = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)(b + 8 + 8 * p)));
	__m512i high = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)(b + 40 + 8 * (p % 2))));
	__m512i sc = _mm512_cvtepu8_epi64(_mm_cvtsi32_si128((int)load16(b + 2 * p)));

	sc = _mm512_sllv_epi64(_mm512_permutexvar_epi64(blocks, sc), to_12);
	v = with_bits(v, _mm512_slli_epi64(high, p < 2 ? 8 : 4), 0xf00);
	return with_bits(v, sc, 0x1000);
}

/* Indices of IQ4_KT. */
INLINE __m512i parted_points_4(const uint8_t *b, int p)
{
	const __m512i blocks = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
	const __m512i to_12 = _mm512_setr_epi32(28, 31, 2, 5, 8, 11, 14, 17, 28, 31, 2, 5, 8, 11, 14,
						17); /* rotated right */
	const __m128i two = _mm_loadl_epi64((const void *)(b + 8 * p));
	const __m512i w = _mm512_permutexvar_epi32(blocks, _mm512_castsi128_si512(two));
	__m512i v = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(b + 32 + 16 * p)));
	__m512i n = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(b + 96 + 16 * (p % 2))));

	v = with_bits(v, _mm512_slli_epi32(n, p < 2 ? 8 : 4), 0xf00);
	v = with_bits(v, _mm512_rorv_epi32(w, to_12), 0x7000);
	return with_bits(v, _mm512_slli_epi32(w, 15), 0x8000);
}

/* The magnitudes of v, negative where bits 2p and 2p + 1 of the 32 bytes at `at` are set. */
INLINE __m512i with_signs(__m512i v, const uint8_t *at, int p)
{
	v = _mm512_abs_epi8(v);
	return _mm512_mask_sub_epi8(v, bits_of(at, p), _mm512_setzero_si512(), v);
}

/* Two bits of each of 16 bytes for every 16 values; p = 0. */
INLINE __m512i pairs_of_16(const uint8_t *at, int p)
{
	const __m512i by = _mm512_setr_epi64(0, 0, 0x2000200020002, 0x2000200020002,
					     0x4000400040004, 0x4000400040004, 0x6000600060006,
					     0x6000600060006);
	const __m512i v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(at + 16 * p)));

	return _mm512_and_si512(_mm512_srlv_epi16(v, by), _mm512_set1_epi8(3));
}

/* The trits, 0 to 2, of IQ1_BN; p = 0. */
INLINE __m512i trits_of_13(const uint8_t *b, int p)
{
	const __m512i at = _mm512_loadu_si512(kern_trit_bytes);
	const __m512i times = _mm512_loadu_si512(kern_trit_powers);
	const __m512i high_bytes = _mm512_set1_epi16((short)0xff00);
	__m512i v = _mm512_broadcast_i32x4(_mm_maskz_loadu_epi8(0x1fff, b + 13 * p)), even, odd;

	v = _mm512_shuffle_epi8(v, at);
	even = _mm512_mullo_epi16(v, times);
	odd = _mm512_mullo_epi16(_mm512_and_si512(v, high_bytes), _mm512_srli_epi16(times, 8));
	v = _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, even, odd);
	/* 3 * v reaches 256 from 86 on, and 512 from 171 on. */
	even = _mm512_maskz_set1_epi8(_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8(86)), 1);
	return _mm512_mask_add_epi8(even, _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)171)),
				    even, _mm512_set1_epi8(1));
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_TRELLIS_AVX512_H */
