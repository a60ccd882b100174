/* SPDX-License-Identifier: MIT
 *
 * books_avx512.h - codes of the types with codebooks of ik_llama.cpp: blocks 2p and 2p + 1 of 32 of
 * a row. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOKS_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOKS_AVX512_H

#include "book_scales.h"
#include "k_avx512.h"

/* D of blocks of 256 from the f16 numbers in the low words of v. */
INLINE __m512 block_factors(__m256i v)
{
	return twice_halves(v);
}

/* D times the signed bytes 2p and 2p + 1 of the scales. */
INLINE void scaled(const struct head *h, int p, struct codes *c)
{
	const int by = 24 - 16 * (p % 2);
	const __m512i v = _mm512_sllv_epi32(twice(h->sc[p / 2]), two(by, by - 8));

	c->d = _mm512_mul_ps(h->d, _mm512_cvtepi32_ps(_mm512_srai_epi32(v, 24)));
}

/* Numbers of a codebook plus 2^shift. */
INLINE __m512i vector_of_book(uint32_t dtype, const int8_t *book)
{
	__m128i b = _mm_loadu_si128((const void *)book);

	b = _mm_add_epi8(b, _mm_set1_epi8((char)(1 << kern_code_shift(dtype))));
	return _mm512_broadcast_i32x4(b);
}

INLINE __m512i look_up_16(uint32_t dtype, const int8_t *book, __m512i v)
{
	return _mm512_shuffle_epi8(vector_of_book(dtype, book), v);
}

/* Which values have their bit set in 32 bytes with a bit for each of eight blocks. */
INLINE __mmask64 bits_of(const uint8_t *qh, int p)
{
	const __m512i bits =
		_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set1_epi8((char)(1 << 2 * p))),
				   _mm256_set1_epi8((char)(2 << 2 * p)), 1);

	return _mm512_test_epi8_mask(load_twice(qh), bits);
}

/* The two bits from bit `by` and from bit `by` + 2 of 32 bytes. */
INLINE __m512i two_bits(const uint8_t *p, int by)
{
	__m512i v = _mm512_srlv_epi16(load_twice(p), words((short)by, (short)(by + 2)));

	return _mm512_and_si512(v, _mm512_set1_epi8(3));
}

/* The nibbles of 32 bytes, in the order of nibbles of 32. */
INLINE __m512i nibbles_of_two(const uint8_t *p)
{
	const __m512i both = _mm512_setr_epi64(0, 1, 0, 1, 2, 3, 2, 3);
	const __m256i q = _mm256_loadu_si256((const void *)p);

	return nibbles(_mm512_permutexvar_epi64(both, _mm512_castsi256_si512(q)));
}

/* Codes of 2 to 5 bits; those of 4 bits in the order of nibbles of 32. */
INLINE __m512i look_up_2(uint32_t dtype, const uint8_t *qs, int p)
{
	return look_up_16(dtype, kern_codebook_iq2k, two_bits(qs + 32 * (p / 2), p % 2 * 4));
}

INLINE __m512i look_up_3(uint32_t dtype, const uint8_t *qs, const uint8_t *qh, int p)
{
	__m512i v = two_bits(qs + 32 * (p / 2), p % 2 * 4);

	v = _mm512_mask_add_epi8(v, bits_of(qh, p), v, _mm512_set1_epi8(4));
	return look_up_16(dtype, kern_codebook_iq3k, v);
}

INLINE __m512i look_up_4(uint32_t dtype, const uint8_t *qs, int p)
{
	return look_up_16(dtype, kern_codebook_iq4, nibbles_of_two(qs + 32 * p));
}

INLINE __m512i look_up_5(uint32_t dtype, const uint8_t *qs, const uint8_t *qh, int p)
{
	const __m512i v = _mm512_srlv_epi16(load_twice(qs + 32 * p), words(0, 4));
	const __m512i q = _mm512_and_si512(v, _mm512_set1_epi8(15));

	return _mm512_mask_shuffle_epi8(look_up_16(dtype, kern_codebook_iq5k, q), bits_of(qh, p),
					vector_of_book(dtype, kern_codebook_iq5k + 16), q);
}

/* Adds `by` where a bit of `bits` is set in the 16 bits at p. */
INLINE __m512i second_where(__m512i v, const uint8_t *p, __m512i bits, char by)
{
	const __m512i second = _mm512_set1_epi16((short)load16(p));

	return _mm512_mask_add_epi16(v, _mm512_test_epi16_mask(second, bits), v,
				     _mm512_set1_epi8(by));
}

/* Adds `by` to the halves of blocks whose bits, from 4p on, are set in the 16 bits at p. */
INLINE __m512i second_of_halves(__m512i v, const uint8_t *at, int p, char by)
{
	const __m256i low = _mm256_setr_m128i(_mm_set1_epi16((short)(1 << 4 * p)),
					      _mm_set1_epi16((short)(2 << 4 * p)));
	const __m256i high = _mm256_setr_m128i(_mm_set1_epi16((short)(4 << 4 * p)),
					       _mm_set1_epi16((short)(8 << 4 * p)));

	return second_where(v, at, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1), by);
}

/* Adds `by` to the blocks whose bits are set in the byte at `at`. */
INLINE __m512i second_of_blocks(__m512i v, const uint8_t *at, int p, char by)
{
	return second_where(v, at, words((short)(1 << 2 * p), (short)(2 << 2 * p)), by);
}

/* Adds `by` to the blocks for which the lowest bits of their bytes at `at` are set. */
INLINE __m512i second_of_bytes(__m512i v, const uint8_t *at, int p, char by)
{
	return second_where(v, at + 2 * p, words(1, 256), by);
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOKS_AVX512_H */
