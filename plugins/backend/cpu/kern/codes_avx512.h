/* SPDX-License-Identifier: MIT
 *
 * codes_avx512.h - weights out of their blocks: eight rows, two neighbouring blocks of 32 at a time.
 *
 * Vectors "of rows" have the eight rows of block b in lanes 0-7 and those of block b+1 in 8-15.
 * Codes are unsigned bytes in the order of the values, so that a weight is
 *     D * (code - 2^shift) + M        (no M, no shift: the term is absent)
 * with the shift of kern_shift().  Q3_K and Q6_K have a factor of 8 bits for each 16 values besides
 * D.  A code that is a place in a book has become the book's number. */
#ifndef LLAMAD_CPU_KERN_CODES_AVX512_H
#define LLAMAD_CPU_KERN_CODES_AVX512_H

#include "x86.h"

struct codes {
	__m512i q[8]; /* bytes 0-31: block b, 32-63: block b+1 */
	__m512 d, m;  /* of rows */
	__m512i sc
		[2]; /* Q3_K, Q6_K: rows 0-3 and 4-7 in four lanes: b low, b high, b+1 low, b+1 high */
};

/* Four neighbouring blocks of 16 bytes of nibbles.  Vectors "of four" have rows 0-3 ([0]) or 4-7 ([1])
 * of block b in lanes 0-3, of b+1 in 4-7 and so on. */
struct quad {
	__m512i low[8], high[8]; /* values 0-15 and 16-31 of the blocks, one in 16 bytes each */
	__m512 d[2], m[2];       /* of four */
};

/* What the pairs of a block of 256 share. */
struct head {
	__m512 d, m;   /* of rows, the same for both blocks; m = -dmin */
	__m512i s[3];  /* Q4_K, Q5_K: bytes 0-3, 4-7, 8-11 of the scales; IQ4_XS: high, low bits */
	__m256i sc[4]; /* Q3_K, Q6_K: scales 4p..4p+3 of the eight rows */
};

/* Low nibbles of lanes 0 and 2, high ones of lanes 1 and 3. */
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

/* Blocks whose parts lie on dwords: Q4_1 (5 dwords, codes from 1) and Q5_1 (6, from 2). */
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

/* Places in a book to its numbers, plus 2^shift. */
INLINE __m512i look_up(uint32_t dtype, __m512i v)
{
	__m128i book = _mm_loadu_si128(
		(const void *)(kern_has_iq4_book(dtype) ? kern_book_iq4 : kern_book_fp4));

	book = _mm_add_epi8(book, _mm_set1_epi8((char)(1 << kern_shift(dtype))));
	return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(book), v);
}

/* Blocks whose parts lie on words: Q4_0, IQ4_NL (9 words, codes from 1) and Q5_0 (11, from 3). */
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

INLINE void byte_blocks(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0x110011, 0x110011, 0x110011, 0x110011,
						0, 0, 0, 0, 0, 0, 0, 0);
	const __mmask32 have = both ? UINT32_MAX : 0x1ffff;
	__m512i d = _mm512_setzero_si512();

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *p = w[r] + at;
		__m512i v = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(p + 2)));

		v = _mm512_inserti64x4(v,
				       both ? _mm256_loadu_si256((const void *)(p + 36))
					    : _mm256_setzero_si256(),
				       1);
		c->q[r] = _mm512_xor_si512(v, _mm512_set1_epi8(-128));
		d = _mm512_mask_permutexvar_epi16(d, 0x101u << r, first,
						  _mm512_maskz_loadu_epi16(have, p));
	}
	c->d = of_halves(_mm512_castsi512_si256(d));
}

/* 2^(e - 128), denormal for e = 0 and 1. */
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

/* MXFP4: an exponent, then 16 bytes of codes. */
INLINE void exponent_blocks(const uint8_t *const w[8], size_t at, bool both, struct codes *c)
{
	__m512i e = _mm512_inserti64x4(_mm512_castsi256_si512(exponents(w, at)),
				       both ? exponents(w, at + 17) : _mm256_setzero_si256(), 1);

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(w[r] + at + 1)));

		if (both)
			v = _mm512_mask_broadcast_i32x4(
				v, 0xff00, _mm_loadu_si128((const void *)(w[r] + at + 18)));
		c->q[r] = look_up(LMD_DTYPE_MXFP4, nibbles(v));
	}
	c->d = power(e);
}

/* Two neighbouring blocks of a type of 32, or the last one of an odd number (both = false: what
 * block b+1 would be is 0). */
INLINE void codes_32(uint32_t dtype, const uint8_t *const w[8], size_t at, bool both,
		     struct codes *c)
{
	if (dtype == LMD_DTYPE_Q8_0)
		byte_blocks(w, at, both, c);
	else if (dtype == LMD_DTYPE_MXFP4)
		exponent_blocks(w, at, both, c);
	else if (dtype == LMD_DTYPE_Q4_0 || dtype == LMD_DTYPE_Q5_0 || dtype == LMD_DTYPE_IQ4_NL)
		word_blocks(dtype, w, at, both, c);
	else
		dword_blocks(dtype, w, at, both, c);
}

/* ---- four blocks ---- */

INLINE bool kern_has_quads(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_0 || dtype == LMD_DTYPE_Q4_1 || dtype == LMD_DTYPE_IQ4_NL ||
	       dtype == LMD_DTYPE_MXFP4;
}

INLINE __m512i with_fourth(__m512i v, const uint8_t *p)
{
	return _mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const void *)p));
}

/* Words a, b, c, d, four times each, in both halves. */
INLINE __m512i four_words(short a, short b, short c, short d)
{
	__m256i v = _mm256_setr_epi16(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);

	return _mm512_broadcast_i64x4(v);
}

/* Q4_1: 20 dwords, of which 64 bytes hold all but the codes of the last block. */
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

/* Words of rows 0-3 in the low half, of rows 4-7 in the high one. */
INLINE __m512i first_words(__m512i into, int r, __m512i which, __m512i v)
{
	return _mm512_mask_permutexvar_epi16(into, r < 4 ? 0x1111u << r : 0x11110000u << (r % 4),
					     which, v);
}

/* Q4_0, IQ4_NL: 36 words, of which 64 bytes hold all but the codes of the last block. */
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

/* ---- blocks of 256 ---- */

INLINE __m512i twice(__m256i v)
{
	return _mm512_broadcast_i64x4(v);
}

INLINE __m512 twice_halves(__m256i v)
{
	__m256 f = _mm256_cvtph_ps(_mm256_cvtepi32_epi16(v));

	return _mm512_castsi512_ps(twice(_mm256_castps_si256(f)));
}

/* The block of 256 at `at`. */
INLINE void head_256(uint32_t dtype, const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	if (dtype == LMD_DTYPE_Q6_K) {
		columns(w, at + 192, false, h->sc);
		v[0] = _mm256_setr_epi32((int)load16(w[0] + at + 208), (int)load16(w[1] + at + 208),
					 (int)load16(w[2] + at + 208), (int)load16(w[3] + at + 208),
					 (int)load16(w[4] + at + 208), (int)load16(w[5] + at + 208),
					 (int)load16(w[6] + at + 208),
					 (int)load16(w[7] + at + 208));
		h->d = twice_halves(v[0]);
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

/* Lanes 0-7 a, lanes 8-15 b. */
INLINE __m512i two(int a, int b)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi32(a)),
				  _mm256_set1_epi32(b), 1);
}

/* Scales and minima of 6 bits of blocks 2p and 2p+1. */
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

/* Blocks 2p and 2p+1 of the block of 256 at `at`. */
INLINE void codes_256(uint32_t dtype, const struct head *h, const uint8_t *const w[8], size_t at,
		      int p, struct codes *c)
{
	if (dtype == LMD_DTYPE_Q6_K)
		codes_6(h, w, at, p, c);
	else if (dtype == LMD_DTYPE_Q3_K)
		codes_3(h, w, at, p, c);
	else if (dtype == LMD_DTYPE_IQ4_XS)
		codes_iq4_xs(h, w, at, p, c);
	else
		codes_45(dtype, h, w, at, p, c);
}

#endif /* LLAMAD_CPU_KERN_CODES_AVX512_H */
