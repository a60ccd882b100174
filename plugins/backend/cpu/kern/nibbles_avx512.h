/* SPDX-License-Identifier: MIT
 *
 * nibbles_avx512.h - types with blocks of 32 values and nibbles: eight rows, four neighbouring
 * blocks at a time. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_NIBBLES_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_NIBBLES_AVX512_H

#include "codes_avx512.h"

/* Four neighbouring blocks with 16 bytes of nibbles.  Vectors "of four" have rows 0-3 ([0]) or 4-7
 * ([1]) of block b in lanes 0-3, of block b+1 in lanes 4-7, and so on. */
struct quad {
	__m512i low[8], high[8]; /* values 0-15 and 16-31 of the blocks, 16 bytes for each block */
	__m512 d[2], m[2];       /* of four */
};

INLINE bool kern_has_quads(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_0 || dtype == LMD_DTYPE_Q4_1 || dtype == LMD_DTYPE_IQ4_NL ||
	       dtype == LMD_DTYPE_MXFP4;
}

INLINE __m512i with_fourth(__m512i v, const uint8_t *p)
{
	return _mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const void *)p));
}

/* Words a, b, c, d, each repeated four times, in both halves. */
INLINE __m512i four_words(short a, short b, short c, short d)
{
	__m256i v = _mm256_setr_epi16(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);

	return _mm512_broadcast_i64x4(v);
}

/* Q4_1: 20 dwords; a 64-byte load has all but the codes of the last block. */
INLINE void quad_dwords(const uint8_t *const w[8], size_t at, __m512i q[8], struct quad *c)
{
	const __m512i qs = _mm512_setr_epi32(1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 0, 0, 0, 0);
	const __m512i first =
		_mm512_setr_epi32(0, 0, 0, 0, 5, 5, 5, 5, 10, 10, 10, 10, 15, 15, 15, 15);
	__m512i dm[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = _mm512_loadu_si512(w[r] + at);

		q[r] = with_fourth(_mm512_permutexvar_epi32(qs, v), w[r] + at + 64);
		dm[r / 4] = _mm512_mask_permutexvar_epi32(dm[r / 4], (__mmask16)(0x1111 << (r % 4)),
							  first, v);
	}
#pragma GCC unroll 8
	for (int h = 0; h < 2; h++) {
		c->d[h] = of_halves(_mm512_cvtepi32_epi16(dm[h]));
		c->m[h] = of_halves(_mm512_cvtepi32_epi16(_mm512_srli_epi32(dm[h], 16)));
	}
}

/* Words of rows 0-3 in the low half, words of rows 4-7 in the high half. */
INLINE __m512i first_words(__m512i into, int r, __m512i which, __m512i v)
{
	return _mm512_mask_permutexvar_epi16(into, r < 4 ? 0x1111u << r : 0x11110000u << (r % 4),
					     which, v);
}

/* Q4_0, IQ4_NL: 36 words; a 64-byte load has all but the codes of the last block. */
INLINE void quad_words(const uint8_t *const w[8], size_t at, __m512i q[8], struct quad *c)
{
	const __m128i count = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
	const __m512i lanes = _mm512_inserti64x4(
		_mm512_castsi256_si512(_mm256_setr_m128i(_mm_set1_epi16(1), _mm_set1_epi16(10))),
		_mm256_setr_m128i(_mm_set1_epi16(19), _mm_set1_epi16(0)), 1);
	const __m512i qs = _mm512_add_epi16(lanes, _mm512_broadcast_i32x4(count));
	__m512i d = _mm512_setzero_si512();

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = _mm512_loadu_si512(w[r] + at);

		q[r] = with_fourth(_mm512_permutexvar_epi16(qs, v), w[r] + at + 56);
		d = first_words(d, r, four_words(0, 9, 18, 27), v);
	}
	c->d[0] = of_halves(_mm512_castsi512_si256(d));
	c->d[1] = of_halves(_mm512_extracti64x4_epi64(d, 1));
}

/* MXFP4: 68 bytes; an exponent is the low or the high half of a word. */
INLINE void quad_bytes(const uint8_t *const w[8], size_t at, __m512i q[8], struct quad *c)
{
	const __m512i by = _mm512_setr_epi32(0, 0, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0, 8, 8, 8, 8);
	__m512i d = _mm512_setzero_si512();

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *p = w[r] + at;
		__m512i v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(p + 1)));

		v = _mm512_mask_broadcast_i32x4(v, 0x00f0, _mm_loadu_si128((const void *)(p + 18)));
		v = _mm512_mask_broadcast_i32x4(v, 0x0f00, _mm_loadu_si128((const void *)(p + 35)));
		q[r] = with_fourth(v, p + 52);
		d = first_words(d, r, four_words(0, 8, 17, 25), _mm512_loadu_si512(p));
	}
#pragma GCC unroll 8
	for (int h = 0; h < 2; h++) {
		__m512i e = _mm512_cvtepu16_epi32(h ? _mm512_extracti64x4_epi64(d, 1)
						    : _mm512_castsi512_si256(d));

		c->d[h] = power(_mm512_and_si512(_mm512_srlv_epi32(e, by), _mm512_set1_epi32(255)));
	}
}

INLINE void quad_codes(uint32_t dtype, const uint8_t *const w[8], size_t at, struct quad *c)
{
	const __m512i four_bits = _mm512_set1_epi8(15);
	__m512i q[8];

	if (dtype == LMD_DTYPE_MXFP4)
		quad_bytes(w, at, q, c);
	else if (dtype == LMD_DTYPE_Q4_1)
		quad_dwords(w, at, q, c);
	else
		quad_words(w, at, q, c);
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		c->low[r] = _mm512_and_si512(q[r], four_bits);
		c->high[r] = _mm512_and_si512(_mm512_srli_epi16(q[r], 4), four_bits);
		if (dtype == LMD_DTYPE_IQ4_NL || dtype == LMD_DTYPE_MXFP4) {
			c->low[r] = look_up(dtype, c->low[r]);
			c->high[r] = look_up(dtype, c->high[r]);
		}
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_NIBBLES_AVX512_H */
