/* SPDX-License-Identifier: MIT
 *
 * codes_avx512.h - unpacks weights: eight rows, two neighbouring blocks of 32 at a time.
 *
 * Vectors "of rows" have the eight rows of block b in lanes 0-7 and those of block b+1 in lanes
 * 8-15.  Codes are unsigned bytes in the order of the values, so that a weight is
 *     D * (code - 2^shift) + M        (without M or a shift that term is absent)
 * with the shift of kern_code_shift().  Types with halves have a factor for each 16 values besides
 * D; Q2_K also has a minimum, which is multiplied by M.  Codes that are indices into a codebook are
 * replaced by its numbers. */
#ifndef LLAMAD_CPU_KERN_CODES_AVX512_H
#define LLAMAD_CPU_KERN_CODES_AVX512_H

#include "x86.h"

struct codes {
	__m512i q[8]; /* bytes 0-31: block b, 32-63: block b+1 */
	__m512 d, m;  /* of rows */
	__m512i mn[2]; /* Q2_K: minima of the halves, of rows */
	__m512i sc[2]; /* rows 0-3 and 4-7, four lanes each: b low, b high, b+1 low, b+1 high */
};

/* Shared by the pairs of blocks in a block of 256. */
struct head {
	__m512 d, m;   /* of rows, the same for both blocks; m = -dmin */
	__m512i s[3];  /* Q4_K, Q5_K: bytes 0-3, 4-7, 8-11 of the scales; IQ4_XS: high, low bits */
	__m256i sc[4]; /* Q2_K, Q3_K, Q6_K, points: scales 4p..4p+3 of the eight rows;
			* NVFP4: all, in [0] */
	__m512i points[4][8]; /* types with points: codes of blocks 2p and 2p+1 */
};

/* Low nibbles of 128-bit lanes 0 and 2, high nibbles of lanes 1 and 3. */
INLINE __m512i nibbles(__m512i v)
{
	const __m512i by = _mm512_inserti64x4(
		_mm512_castsi256_si512(_mm256_setr_epi64x(0, 0, 0x4000400040004, 0x4000400040004)),
		_mm256_setr_epi64x(0, 0, 0x4000400040004, 0x4000400040004), 1);

	return _mm512_and_si512(_mm512_srlv_epi16(v, by), _mm512_set1_epi8(15));
}

INLINE __m512 of_halves(__m256i v)
{
	return _mm512_cvtph_ps(v);
}

/* Blocks whose parts are aligned to dwords: Q4_1 (5 dwords, codes from dword 1) and Q5_1 (6, from
 * 2). */
INLINE void dword_blocks(uint32_t dtype, const uint8_t *const w[8], size_t at, bool both,
			 struct codes *c)
{
	const int n = dtype == LMD_DTYPE_Q4_1 ? 5 : 6, q = n - 4;
	const __m512i qs =
		_mm512_setr_epi32(q, q + 1, q + 2, q + 3, q, q + 1, q + 2, q + 3, n + q, n + q + 1,
				  n + q + 2, n + q + 3, n + q, n + q + 1, n + q + 2, n + q + 3);
	const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, n, n, n, n, n, n, n, n);
	const __mmask16 have = (__mmask16)((1u << (both ? 2 * n : n)) - 1);
	__m512i dm = _mm512_setzero_si512();

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = _mm512_maskz_loadu_epi32(have, w[r] + at);

		c->q[r] = nibbles(_mm512_permutexvar_epi32(qs, v));
		dm = _mm512_mask_permutexvar_epi32(dm, (__mmask16)(0x101 << r), first, v);
		if (dtype == LMD_DTYPE_Q5_1) {
			uint64_t fifth = load32(w[r] + at + 4);

			if (both)
				fifth |= (uint64_t)load32(w[r] + at + 28) << 32;
			c->q[r] =
				_mm512_mask_add_epi8(c->q[r], fifth, c->q[r], _mm512_set1_epi8(16));
		}
	}
	c->d = of_halves(_mm512_cvtepi32_epi16(dm));
	c->m = of_halves(_mm512_cvtepi32_epi16(_mm512_srli_epi32(dm, 16)));
}

/* Replaces codebook indices by the codebook's numbers plus 2^shift. */
INLINE __m512i look_up(uint32_t dtype, __m512i v)
{
	__m128i book =
		_mm_loadu_si128((const void *)(kern_has_iq4_codebook(dtype) ? kern_codebook_iq4
									    : kern_codebook_fp4));

	book = _mm_add_epi8(book, _mm_set1_epi8((char)(1 << kern_code_shift(dtype))));
	return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(book), v);
}

/* Blocks whose parts are aligned to words: Q4_0, IQ4_NL (9 words, codes from word 1) and Q5_0 (11,
 * from 3). */
INLINE void word_blocks(uint32_t dtype, const uint8_t *const w[8], size_t at, bool both,
			struct codes *c)
{
	const short n = dtype == LMD_DTYPE_Q5_0 ? 11 : 9;
	const __m128i q0 = _mm_add_epi16(_mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7),
					 _mm_set1_epi16((short)(n - 8)));
	const __m128i q1 = _mm_add_epi16(q0, _mm_set1_epi16(n));
	const __m512i qs =
		_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_broadcastsi128_si256(q0)),
				   _mm256_broadcastsi128_si256(q1), 1);
	const __m256i first = _mm256_setr_m128i(_mm_setzero_si128(), _mm_set1_epi16(n));
	const __mmask32 have = (1u << (both ? 2 * n : n)) - 1;
	__m256i d = _mm256_setzero_si256();

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = _mm512_maskz_loadu_epi16(have, w[r] + at);

		c->q[r] = nibbles(_mm512_permutexvar_epi16(qs, v));
		d = _mm256_mask_permutexvar_epi16(d, (__mmask16)(0x101 << r), first,
						  _mm512_castsi512_si256(v));
		if (dtype == LMD_DTYPE_IQ4_NL)
			c->q[r] = look_up(dtype, c->q[r]);
		if (dtype == LMD_DTYPE_Q5_0) {
			uint64_t fifth = load32(w[r] + at + 2);

			if (both)
				fifth |= (uint64_t)load32(w[r] + at + 24) << 32;
			c->q[r] =
				_mm512_mask_add_epi8(c->q[r], fifth, c->q[r], _mm512_set1_epi8(16));
		}
	}
	c->d = of_halves(d);
}

/* 2^(e - 128), which is denormal for e = 0 and 1. */
INLINE __m512 power(__m512i e)
{
	const __m512i one = _mm512_set1_epi32(1);
	__m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23);

	return _mm512_castsi512_ps(_mm512_mask_sllv_epi32(normal, _mm512_cmple_epi32_mask(e, one),
							  _mm512_set1_epi32(0x200000), e));
}

INLINE __m256i exponents(const uint8_t *const w[8], size_t at)
{
	return _mm256_setr_epi32(w[0][at], w[1][at], w[2][at], w[3][at], w[4][at], w[5][at],
				 w[6][at], w[7][at]);
}

#endif /* LLAMAD_CPU_KERN_CODES_AVX512_H */
