/* SPDX-License-Identifier: MIT
 *
 * k_avx512.h - types with blocks of 256 values and at least 3 bits, and NVFP4: eight rows, two
 * blocks of 32 at a time. */
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

/* Reads the header of the block of 256 at `at`. */
INLINE void head_k(uint32_t dtype, const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	if (dtype == LMD_DTYPE_NVFP4) {
		h->sc[0] = dwords_at(w, at);
		return;
	}
	if (dtype == LMD_DTYPE_Q6_K) {
		columns(w, at + 192, false, h->sc);
		h->d = twice_halves(halves_at(w, at + 208));
		return;
	}
	if (dtype == LMD_DTYPE_Q3_K) {
		columns(w, at + 94, true, v);
		scales_3(v, h->sc);
		h->d = twice_halves(v[3]);
		return;
	}
	columns(w, at, false, v);
	h->d = twice_halves(v[0]);
	if (dtype == LMD_DTYPE_IQ4_XS) {
		h->s[0] = twice(_mm256_srli_epi32(v[0], 16));
		h->s[1] = twice(v[1]);
		return;
	}
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

INLINE void codes_6(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		    struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i low = _mm512_loadu_si512(w[r] + at + 64 * (p / 2));
		__m512i high = load_twice(w[r] + at + 128 + 32 * (p / 2));

		if (p % 2) {
			low = _mm512_srli_epi16(low, 4);
			high = _mm512_srlv_epi16(high, words(0, 2));
		} else {
			high = _mm512_sllv_epi16(high, words(4, 2));
		}
		low = _mm512_and_si512(low, _mm512_set1_epi8(15));
		c->q[r] = _mm512_or_si512(low, _mm512_and_si512(high, _mm512_set1_epi8(0x30)));
	}
	halves(h, p, c);
}

INLINE void codes_3(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		    struct codes *c)
{
	const short by = (short)(p % 2 * 4);
	const __m512i bits =
		_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi8((char)(1 << 2 * p))),
				   _mm256_set1_epi8((char)(2 << 2 * p)), 1);

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = load_twice(w[r] + at + 32 + 32 * (p / 2));
		__mmask64 third = _mm512_test_epi8_mask(load_twice(w[r] + at), bits);

		v = _mm512_srlv_epi16(v, words(by, (short)(by + 2)));
		v = _mm512_and_si512(v, _mm512_set1_epi8(3));
		c->q[r] = _mm512_mask_add_epi8(v, third, v, _mm512_set1_epi8(4));
	}
	halves(h, p, c);
}

INLINE void codes_iq4_xs(const struct head *h, const uint8_t *const w[8], size_t at, int p,
			 struct codes *c)
{
	const __m512i both = _mm512_setr_epi64(0, 1, 0, 1, 2, 3, 2, 3);
	__m512i low = _mm512_srlv_epi32(h->s[1], two(8 * p, 8 * p + 4));
	__m512i high = _mm512_srlv_epi32(h->s[0], two(4 * p, 4 * p + 2)), sc;

	low = _mm512_and_si512(low, _mm512_set1_epi32(15));
	high = _mm512_and_si512(high, _mm512_set1_epi32(3));
	sc = _mm512_or_si512(low, _mm512_slli_epi32(high, 4));
	sc = _mm512_sub_epi32(sc, _mm512_set1_epi32(32));
	c->d = _mm512_mul_ps(h->d, _mm512_cvtepi32_ps(sc));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m256i q = _mm256_loadu_si256((const void *)(w[r] + at + 8 + 32 * p));
		__m512i v = _mm512_permutexvar_epi64(both, _mm512_castsi256_si512(q));

		c->q[r] = look_up(LMD_DTYPE_IQ4_XS, nibbles(v));
	}
}

/* Reads a whole block.  Groups of 16: the low nibbles of eight bytes, then their high nibbles. */
INLINE void codes_nvfp4(const struct head *h, const uint8_t *const w[8], size_t at,
			struct codes *c)
{
	const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
	const __m512i four = _mm512_set1_epi8(15);

	c->d = _mm512_insertf32x8(_mm512_castps256_ps512(half_e4m3(h->sc[0], 0)),
				  half_e4m3(h->sc[0], 2), 1);
	c->m = _mm512_insertf32x8(_mm512_castps256_ps512(half_e4m3(h->sc[0], 1)),
				  half_e4m3(h->sc[0], 3), 1);
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = load_twice(w[r] + at + 4);

		v = _mm512_and_si512(_mm512_srlv_epi16(v, words(0, 4)), four);
		c->q[r] = look_up(LMD_DTYPE_NVFP4, _mm512_permutexvar_epi64(order, v));
	}
}

/* Blocks 2p and 2p+1 of the larger block at `at`. */
INLINE void codes_k(uint32_t dtype, const struct head *h, const uint8_t *const w[8], size_t at,
		    int p, struct codes *c)
{
	if (dtype == LMD_DTYPE_Q6_K)
		codes_6(h, w, at, p, c);
	else if (dtype == LMD_DTYPE_Q3_K)
		codes_3(h, w, at, p, c);
	else if (dtype == LMD_DTYPE_IQ4_XS)
		codes_iq4_xs(h, w, at, p, c);
	else if (dtype == LMD_DTYPE_NVFP4)
		codes_nvfp4(h, w, at, c);
	else
		codes_45(dtype, h, w, at, p, c);
}

#endif /* LLAMAD_CPU_KERN_K_AVX512_H */
