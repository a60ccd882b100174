/* SPDX-License-Identifier: MIT
 *
 * book_scales.h - scales of the types with codebooks of ik_llama.cpp with vectors of eight rows, for
 * both vector widths: each dword of a result has four bytes, one for each of four groups. */
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

/* The scales of IQ4_K and IQ5_K from the columns of their first 16 bytes. */
INLINE void scales_k6(const __m256i v[4], __m256i sc[4])
{
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
		sc[i] = scale_bytes(four_nibbles(v[2 + i / 2], i % 2 * 16),
				    four_pairs(v[1], 8 * i), 32);
}

/* The scales of IQ4_KS and IQ5_KS. */
INLINE void scales_ks(const uint8_t *const w[8], size_t at, __m256i sc[4])
{
	__m256i v[4];

	columns(w, at, false, v);
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++)
		sc[i] = scale_bytes(and32(v[i], (int)0xfefefefe), _mm256_setzero_si256(), 127);
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOK_SCALES_H */
