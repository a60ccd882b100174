/* SPDX-License-Identifier: MIT
 *
 * k_avx512.h - shared by types with larger blocks of at least 3 bits: eight rows, two blocks of 32
 * at a time. */
#ifndef LLAMAD_CPU_KERN_K_AVX512_H
#define LLAMAD_CPU_KERN_K_AVX512_H

#include "codes_avx512.h"

INLINE __m512i twice(__m256i v)
{
	return _mm512_broadcast_i64x4(v);
}

INLINE __m512 twice_halves(__m256i v)
{
	__m256 f = _mm256_cvtph_ps(_mm256_cvtepi32_epi16(v));

	return _mm512_castsi512_ps(twice(_mm256_castps_si256(f)));
}

/* The factors that the rows begin with, or 0. */
INLINE __m512 row_factors(uint32_t dtype, const uint8_t *const w[8])
{
	if (!kern_row_head(dtype))
		return _mm512_setzero_ps();
	return kern_row_head(dtype) == 2 ? twice_halves(halves_at(w, 0))
					 : _mm512_castsi512_ps(twice(dwords_at(w, 0)));
}

/* Reads the header of a Q4_K or Q5_K block. */
INLINE void head_45(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at, false, v);
	h->d = twice_halves(v[0]);
	h->m = _mm512_xor_ps(twice_halves(_mm256_srli_epi32(v[0], 16)), _mm512_set1_ps(-0.0f));
#pragma GCC unroll 8
	for (int i = 0; i < 3; i++)
		h->s[i] = twice(v[i + 1]);
}

/* a in lanes 0-7, b in lanes 8-15. */
INLINE __m512i two(int a, int b)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi32(a)),
				  _mm256_set1_epi32(b), 1);
}

/* The 6-bit scales and minima of blocks 2p and 2p+1. */
INLINE void scales_45(const struct head *h, int p, struct codes *c)
{
	const int j = 16 * (p % 2);
	const __m512i six = _mm512_set1_epi32(63), four = _mm512_set1_epi32(15),
		      top = _mm512_set1_epi32(0x30);
	__m512i sc, mn;

	if (p < 2) {
		sc = _mm512_and_si512(_mm512_srlv_epi32(h->s[0], two(j, j + 8)), six);
		mn = _mm512_and_si512(_mm512_srlv_epi32(h->s[1], two(j, j + 8)), six);
	} else {
		const __m512i high = two(j + 2, j + 10);

		sc = _mm512_and_si512(_mm512_srlv_epi32(h->s[2], two(j, j + 8)), four);
		mn = _mm512_and_si512(_mm512_srlv_epi32(h->s[2], two(j + 4, j + 12)), four);
		sc = _mm512_or_si512(sc, _mm512_and_si512(_mm512_srlv_epi32(h->s[0], high), top));
		mn = _mm512_or_si512(mn, _mm512_and_si512(_mm512_srlv_epi32(h->s[1], high), top));
	}
	c->d = _mm512_mul_ps(h->d, _mm512_cvtepi32_ps(sc));
	c->m = _mm512_mul_ps(h->m, _mm512_cvtepi32_ps(mn));
}

INLINE __m512i load_twice(const uint8_t *p)
{
	return twice(_mm256_loadu_si256((const void *)p));
}

INLINE __m512i words(short a, short b)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi16(a)),
				  _mm256_set1_epi16(b), 1);
}

INLINE void codes_45(uint32_t dtype, const struct head *h, const uint8_t *const w[8], size_t at,
		     int p, struct codes *c)
{
	const size_t qs = dtype == LMD_DTYPE_Q5_K ? 48 : 16;
	const __m512i bits =
		_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi8((char)(1 << 2 * p))),
				   _mm256_set1_epi8((char)(2 << 2 * p)), 1);

	scales_45(h, p, c);
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = load_twice(w[r] + at + qs + 32 * p);

		v = _mm512_and_si512(_mm512_srlv_epi16(v, words(0, 4)), _mm512_set1_epi8(15));
		if (dtype == LMD_DTYPE_Q5_K)
			v = _mm512_mask_add_epi8(
				v, _mm512_test_epi8_mask(load_twice(w[r] + at + 16), bits), v,
				_mm512_set1_epi8(16));
		c->q[r] = v;
	}
}

/* D and the factors of the halves of blocks 2p and 2p+1. */
INLINE void halves(const struct head *h, int p, struct codes *c)
{
	const __m512i up = _mm512_inserti64x4(
		_mm512_castsi256_si512(_mm256_setr_epi32(24, 24, 24, 24, 16, 16, 16, 16)),
		_mm256_setr_epi32(8, 8, 8, 8, 0, 0, 0, 0), 1);

	c->d = h->d;
#pragma GCC unroll 8
	for (int i = 0; i < 2; i++) {
		__m128i four = i ? _mm256_extracti128_si256(h->sc[p], 1)
				 : _mm256_castsi256_si128(h->sc[p]);

		c->sc[i] =
			_mm512_srai_epi32(_mm512_sllv_epi32(_mm512_broadcast_i32x4(four), up), 24);
	}
}

#endif /* LLAMAD_CPU_KERN_K_AVX512_H */
