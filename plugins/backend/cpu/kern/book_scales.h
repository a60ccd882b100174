/* SPDX-License-Identifier: MIT
 *
 * book_scales.h - scales of the types of ik_llama.cpp in vectors of eight rows, for AVX2 and
 * AVX-512: each dword of a result has four bytes, the scales of four groups of a row. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOK_SCALES_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOK_SCALES_H

#include "x86.h"

INLINE __m256i and32(__m256i v, int mask)
{
	return _mm256_and_si256(v, _mm256_set1_epi32(mask));
}

/* The four nibbles from bit `by` on. */
INLINE __m256i four_nibbles(__m256i v, int by)
{
	v = and32(_mm256_srli_epi32(v, by), 0xffff);
	v = and32(_mm256_or_si256(v, _mm256_slli_epi32(v, 8)), 0x00ff00ff);
	return and32(_mm256_or_si256(v, _mm256_slli_epi32(v, 4)), 0x0f0f0f0f);
}

/* The four fields of two bits from bit `by` on. */
INLINE __m256i four_pairs(__m256i v, int by)
{
	v = and32(_mm256_srli_epi32(v, by), 0xff);
	v = and32(_mm256_or_si256(v, _mm256_slli_epi32(v, 12)), 0x000f000f);
	return and32(_mm256_or_si256(v, _mm256_slli_epi32(v, 6)), 0x03030303);
}

/* The four bits from bit `by` on. */
INLINE __m256i four_bits(__m256i v, int by)
{
	v = and32(_mm256_srli_epi32(v, by), 0xf);
	v = and32(_mm256_or_si256(v, _mm256_slli_epi32(v, 14)), 0x00030003);
	return and32(_mm256_or_si256(v, _mm256_slli_epi32(v, 7)), 0x01010101);
}

/* Bytes low + 16 * high - minus. */
INLINE __m256i scale_bytes(__m256i low, __m256i high, char minus)
{
	return _mm256_sub_epi8(_mm256_or_si256(low, _mm256_slli_epi32(high, 4)),
			       _mm256_set1_epi8(minus));
}

/* Four low nibbles (i = 0) or high nibbles (1) of the bytes of v. */
INLINE __m256i half_nibbles(__m256i v, int i)
{
	return and32(i ? _mm256_srli_epi32(v, 4) : v, 0x0f0f0f0f);
}

/* Reads the scales of IQ4_K or IQ5_K blocks; returns the dwords that begin with d. */
INLINE __m256i head_k6(const uint8_t *const w[8], size_t at, __m256i sc[4])
{
	__m256i v[4];

	columns(w, at, false, v);
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
		sc[i] = scale_bytes(four_nibbles(v[2 + i / 2], i % 2 * 16),
				    four_pairs(v[1], 8 * i), 32);
	return v[0];
}

/* The scales of IQ4_KS, IQ4_KSS and IQ5_KS. */
INLINE __m256i scales_ks(__m256i v)
{
	return scale_bytes(and32(v, (int)0xfefefefe), _mm256_setzero_si256(), 127);
}

/* The scales of IQ4_KT, which are in the lowest bytes of eight dwords of each row. */
INLINE void scales_kt(const uint8_t *const w[8], size_t at, __m256i sc[4])
{
	const __m256i low = _mm256_setr_epi32(0x0c080400, -1, -1, -1, 0x0c080400, -1, -1, -1);
	int s[2][8];

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m256i v = _mm256_loadu_si256((const void *)(w[r] + at));

		v = _mm256_shuffle_epi8(v, low);
		s[0][r] = _mm256_extract_epi32(v, 0);
		s[1][r] = _mm256_extract_epi32(v, 4);
	}
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++) {
		__m256i v = _mm256_setr_epi32(s[i][0], s[i][1], s[i][2], s[i][3], s[i][4], s[i][5],
					      s[i][6], s[i][7]);

		v = and32(_mm256_srli_epi32(v, 1), 0x7f7f7f7f);
		sc[i] = _mm256_sub_epi8(v, _mm256_set1_epi8(64));
	}
}

/* Numbers of the codebook of IQ4, which are scales of types with a trellis. */
INLINE __m256i scales_of_book(__m256i v)
{
	const __m128i book = _mm_loadu_si128((const void *)kern_codebook_iq4);

	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(book), v);
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOK_SCALES_H */
