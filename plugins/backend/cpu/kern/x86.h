/* SPDX-License-Identifier: MIT
 *
 * x86.h - shared by the AVX2 and the AVX-512 kernels: reading of block headers.  Included by files
 * that are compiled for one of them.  Everything is inlined with a constant `dtype`, so that only
 * the code of one type remains. */
#ifndef LLAMAD_CPU_KERN_X86_H
#define LLAMAD_CPU_KERN_X86_H

#include <immintrin.h>
#include <string.h>

#include "codebooks.h"
#include "iq_tables.h"
#include "properties.h"
#include "slice.h"

INLINE uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

INLINE uint32_t load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

INLINE __m256i dwords_at(const uint8_t *const w[8], size_t at)
{
	return _mm256_setr_epi32((int)load32(w[0] + at), (int)load32(w[1] + at),
				 (int)load32(w[2] + at), (int)load32(w[3] + at),
				 (int)load32(w[4] + at), (int)load32(w[5] + at),
				 (int)load32(w[6] + at), (int)load32(w[7] + at));
}

INLINE __m256i halves_at(const uint8_t *const w[8], size_t at)
{
	return _mm256_setr_epi32((int)load16(w[0] + at), (int)load16(w[1] + at),
				 (int)load16(w[2] + at), (int)load16(w[3] + at),
				 (int)load16(w[4] + at), (int)load16(w[5] + at),
				 (int)load16(w[6] + at), (int)load16(w[7] + at));
}

/* d of eight rows of a type with points. */
INLINE __m256i point_ds(uint32_t dtype, const uint8_t *const w[8], size_t at)
{
	return _mm256_setr_epi32((int)kern_point_d(dtype, w[0] + at),
				 (int)kern_point_d(dtype, w[1] + at),
				 (int)kern_point_d(dtype, w[2] + at),
				 (int)kern_point_d(dtype, w[3] + at),
				 (int)kern_point_d(dtype, w[4] + at),
				 (int)kern_point_d(dtype, w[5] + at),
				 (int)kern_point_d(dtype, w[6] + at),
				 (int)kern_point_d(dtype, w[7] + at));
}

/* Half of the E4M3 numbers in byte `byte` of each dword (NVFP4): 0x7f is 0, bit 7 is ignored. */
INLINE __m256 half_e4m3(__m256i v, int byte)
{
	__m256i b = _mm256_and_si256(_mm256_srli_epi32(v, 8 * byte), _mm256_set1_epi32(255));
	__m256i none = _mm256_cmpeq_epi32(b, _mm256_set1_epi32(127));

	/* Exponent and mantissa stay next to each other; the bias is 7 instead of 127. */
	b = _mm256_slli_epi32(_mm256_and_si256(b, _mm256_set1_epi32(127)), 20);
	return _mm256_mul_ps(_mm256_castsi256_ps(_mm256_andnot_si256(none, b)),
			     _mm256_set1_ps(0x1p119f));
}

/* The trits, 0 to 2, of block j < 8 of TQ1_0: kern_trits_32 with vectors. */
INLINE __m256i trits(const uint8_t *b, int j)
{
	static const uint8_t power[8] = {1, 3, 9, 27, 81, 1, 9, 81};
	__m256i v, even, odd, p = _mm256_set1_epi16(power[j]);

	if (j < 5) {
		v = _mm256_loadu_si256((const void *)b);
	} else { /* two trits of 16 bytes; the last block has one, and four of 4 bytes */
		__m128i low = _mm_loadu_si128((const void *)(b + 32));
		__m128i high = j < 7 ? low : _mm_set1_epi32((int)load32(b + 48));
		__m128i times = j < 7 ? _mm_set1_epi16((short)(3 * power[j]))
				      : _mm_setr_epi16(1, 1, 3, 3, 9, 9, 27, 27);

		v = _mm256_setr_m128i(low, high);
		p = _mm256_setr_m128i(_mm256_castsi256_si128(p), times);
	}
	even = _mm256_and_si256(_mm256_mullo_epi16(v, p), _mm256_set1_epi16(255));
	odd = _mm256_mullo_epi16(_mm256_and_si256(v, _mm256_set1_epi16((short)0xff00)), p);
	v = _mm256_or_si256(even, odd);
	/* 3 * v reaches 256 from 86 on, and 512 from 171 on. */
	even = _mm256_cmpeq_epi8(_mm256_max_epu8(v, _mm256_set1_epi8(86)), v);
	odd = _mm256_cmpeq_epi8(_mm256_max_epu8(v, _mm256_set1_epi8((char)171)), v);
	return _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(even, odd));
}

/* out[i]: dword i of the 16 bytes at each of eight addresses; with two_off the dwords of the last
 * 14 bytes followed by two zeros. */
INLINE void columns(const uint8_t *const w[8], size_t at, bool two_off, __m256i out[4])
{
	__m256i v[4], t[4];

#pragma GCC unroll 8
	for (int r = 0; r < 4; r++) {
		v[r] = _mm256_setr_m128i(_mm_loadu_si128((const void *)(w[r] + at)),
					 _mm_loadu_si128((const void *)(w[r + 4] + at)));
		if (two_off)
			v[r] = _mm256_srli_si256(v[r], 2);
	}
	t[0] = _mm256_unpacklo_epi32(v[0], v[1]);
	t[1] = _mm256_unpackhi_epi32(v[0], v[1]);
	t[2] = _mm256_unpacklo_epi32(v[2], v[3]);
	t[3] = _mm256_unpackhi_epi32(v[2], v[3]);
	out[0] = _mm256_unpacklo_epi64(t[0], t[2]);
	out[1] = _mm256_unpackhi_epi64(t[0], t[2]);
	out[2] = _mm256_unpacklo_epi64(t[1], t[3]);
	out[3] = _mm256_unpackhi_epi64(t[1], t[3]);
}

/* The 16 scales of Q3_K minus 32, as bytes: low bits in v[0] and v[1], the two high bits in
 * v[2]. */
INLINE void scales_3(const __m256i v[4], __m256i sc[4])
{
	const __m256i four = _mm256_set1_epi8(15), two = _mm256_set1_epi8(3);

#pragma GCC unroll 8
	for (int i = 0; i < 4; i++) {
		__m256i low = i < 2 ? v[i] : _mm256_srli_epi16(v[i < 2 ? 0 : i - 2], 4);
		__m256i high = _mm256_and_si256(_mm256_srli_epi16(v[2], 2 * i), two);

		low = _mm256_or_si256(_mm256_and_si256(low, four), _mm256_slli_epi16(high, 4));
		sc[i] = _mm256_sub_epi8(low, _mm256_set1_epi8(32));
	}
}

/* Prefetches later rows when `done` bytes of each of eight rows have been used and the next `n` are
 * about to be. */
INLINE void prefetch_rows(const uint8_t *later, size_t done, size_t n)
{
#pragma GCC unroll 16
	for (size_t i = 0; i < 8 * n; i += 64)
		kern_prefetch(later + 8 * done + i);
}

#endif /* LLAMAD_CPU_KERN_X86_H */
