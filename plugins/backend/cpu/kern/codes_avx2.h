/* SPDX-License-Identifier: MIT
 *
 * codes_avx2.h - unpacks weights: eight rows, one block of 32 at a time.
 *
 * Codes are bytes in the order of the values; a weight is D * (code - 2^shift) + M (without a
 * shift or M that term is absent).  Codes are unsigned except for Q8_0, IQ4_NL and IQ4_XS, which
 * have no shift here.  Types with halves have a factor for each 16 values besides D; Q2_K also has
 * a minimum, which is multiplied by M.  Codes that are indices into a codebook are replaced by its
 * numbers. */
#ifndef LLAMAD_CPU_KERN_CODES_AVX2_H
#define LLAMAD_CPU_KERN_CODES_AVX2_H

#include "grid_avx2.h"
#include "x86.h"

struct codes {
	__m256i q[8];
	__m256 d, m;   /* of the eight rows */
	__m256i mn[2]; /* Q2_K: minima of the halves, of the eight rows */
	__m256i sc[2]; /* rows 0-3 and 4-7; the factors of the low and then of the high half */
};

/* Shared by the blocks of 32 in a block of 256; of the eight rows. */
struct head {
	__m256 d, m;   /* m = -dmin */
	__m256i s[3];  /* Q4_K, Q5_K: bytes 0-3, 4-7, 8-11 of the scales; IQ4_XS: high, low bits;
			* NVFP4: the scales */
	__m256i sc[4]; /* Q2_K, Q3_K, Q6_K: scales 4i..4i+3 */
	struct grid_parts points[8]; /* types with points */
};

INLINE __m256i ymm(const uint8_t *p)
{
	return _mm256_loadu_si256((const void *)p);
}

INLINE __m256i and8(__m256i v, char mask)
{
	return _mm256_and_si256(v, _mm256_set1_epi8(mask));
}

/* Converts the f16 numbers in the low words. */
INLINE __m256 low_halves(__m256i v)
{
	v = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
	v = _mm256_permute4x64_epi64(_mm256_packus_epi32(v, v), 0x08);
	return _mm256_cvtph_ps(_mm256_castsi256_si128(v));
}

/* The factors that the rows begin with, or 0. */
INLINE __m256 row_factors(uint32_t dtype, const uint8_t *const w[8])
{
	if (!kern_row_head(dtype))
		return _mm256_setzero_ps();
	return kern_row_head(dtype) == 2 ? low_halves(halves_at(w, 0))
					 : _mm256_castsi256_ps(dwords_at(w, 0));
}

/* The 32 nibbles of 16 bytes, low nibbles first. */
INLINE __m256i nibbles(const uint8_t *p)
{
	__m128i v = _mm_loadu_si128((const void *)p);

	return and8(_mm256_setr_m128i(v, _mm_srli_epi16(v, 4)), 15);
}

/* Sets all bits of byte j if bit j is set. */
INLINE __m256i bytes_of_bits(uint32_t bits)
{
	const __m256i byte =
		_mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
	const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
	__m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), byte);

	return _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
}

/* 16 in byte j if bit j is set, else 0. */
INLINE __m256i fifth_bits(const uint8_t *p)
{
	return and8(bytes_of_bits(load32(p)), 16);
}

/* Codes are signed 8-bit numbers without a shift. */
INLINE bool is_signed(uint32_t dtype)
{
	return kern_greatest_code(dtype) > 127;
}

INLINE uint32_t shift_of(uint32_t dtype)
{
	return is_signed(dtype) ? 0 : kern_code_shift(dtype);
}

/* Replaces codebook indices by the codebook's numbers plus 2^shift. */
INLINE __m256i look_up(uint32_t dtype, __m256i v)
{
	__m128i book =
		_mm_loadu_si128((const void *)(kern_has_iq4_codebook(dtype) ? kern_codebook_iq4
									    : kern_codebook_fp4));

	if (!is_signed(dtype))
		book = _mm_add_epi8(book, _mm_set1_epi8((char)(1 << kern_code_shift(dtype))));
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(book), v);
}

/* Reads a block of 32 whose parts are d, M if it has one, the fifth bits, and the codes. */
INLINE void block_of_32(uint32_t dtype, const uint8_t *const w[8], size_t at, struct codes *c)
{
	const bool five = kern_greatest_code(dtype) == 31;
	const size_t dm = kern_has_min(dtype) ? 4 : 2, qs = at + dm + (five ? 4 : 0);
	__m256i first = kern_has_min(dtype) ? dwords_at(w, at) : halves_at(w, at);

	c->d = low_halves(first);
	if (kern_has_min(dtype))
		c->m = low_halves(_mm256_srli_epi32(first, 16));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		c->q[r] = dtype == LMD_DTYPE_Q8_0 ? ymm(w[r] + qs) : nibbles(w[r] + qs);
		if (five)
			c->q[r] = _mm256_or_si256(c->q[r], fifth_bits(w[r] + at + dm));
		if (kern_has_iq4_codebook(dtype))
			c->q[r] = look_up(dtype, c->q[r]);
	}
}

/* Reads the header of a Q4_K or Q5_K block. */
INLINE void head_45(const uint8_t *const w[8], size_t at, struct head *h)
{
	__m256i v[4];

	columns(w, at, false, v);
	h->d = low_halves(v[0]);
	h->m = _mm256_xor_ps(low_halves(_mm256_srli_epi32(v[0], 16)), _mm256_set1_ps(-0.0f));
#pragma GCC unroll 8
	for (int i = 0; i < 3; i++)
		h->s[i] = v[i + 1];
}

/* Block j < 8 of a Q4_K or Q5_K block. */
INLINE void codes_45(uint32_t dtype, const struct head *h, const uint8_t *const w[8], size_t at,
		     int j, struct codes *c)
{
	const size_t qs = at + (dtype == LMD_DTYPE_Q5_K ? 48 : 16) + 32 * (size_t)(j / 2);
	const int by = 8 * (j % 4);
	const __m256i four = _mm256_set1_epi32(15), top = _mm256_set1_epi32(0x30);
	__m256i sc, mn;

	if (j < 4) {
		sc = _mm256_and_si256(_mm256_srli_epi32(h->s[0], by), _mm256_set1_epi32(63));
		mn = _mm256_and_si256(_mm256_srli_epi32(h->s[1], by), _mm256_set1_epi32(63));
	} else {
		sc = _mm256_and_si256(_mm256_srli_epi32(h->s[2], by), four);
		mn = _mm256_and_si256(_mm256_srli_epi32(h->s[2], by + 4), four);
		sc = _mm256_or_si256(sc, _mm256_and_si256(_mm256_srli_epi32(h->s[0], by + 2), top));
		mn = _mm256_or_si256(mn, _mm256_and_si256(_mm256_srli_epi32(h->s[1], by + 2), top));
	}
	c->d = _mm256_mul_ps(h->d, _mm256_cvtepi32_ps(sc));
	c->m = _mm256_mul_ps(h->m, _mm256_cvtepi32_ps(mn));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m256i v = ymm(w[r] + qs);

		c->q[r] = and8(j % 2 ? _mm256_srli_epi16(v, 4) : v, 15);
		if (dtype == LMD_DTYPE_Q5_K) {
			v = ymm(w[r] + at + 16);
			v = j < 4 ? _mm256_slli_epi16(v, j < 4 ? 4 - j : 0)
				  : _mm256_srli_epi16(v, j < 4 ? 0 : j - 4);
			c->q[r] = _mm256_or_si256(c->q[r], and8(v, 16));
		}
	}
}

/* D and the factors of the halves of block j. */
INLINE void halves(const struct head *h, int j, struct codes *c)
{
	const int dword = j / 2, by = 16 * (j % 2);
	const __m256i up = _mm256_setr_epi32(24 - by, 24 - by, 24 - by, 24 - by, 16 - by, 16 - by,
					     16 - by, 16 - by);
	__m256i low4, high4;

	c->d = h->d;
	low4 = _mm256_permute4x64_epi64(h->sc[dword], 0x44);
	high4 = _mm256_permute4x64_epi64(h->sc[dword], 0xee);
	c->sc[0] = _mm256_srai_epi32(_mm256_sllv_epi32(low4, up), 24);
	c->sc[1] = _mm256_srai_epi32(_mm256_sllv_epi32(high4, up), 24);
}

#endif /* LLAMAD_CPU_KERN_CODES_AVX2_H */
