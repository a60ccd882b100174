/* SPDX-License-Identifier: MIT
 *
 * books_avx2.h - codes of the types with codebooks of ik_llama.cpp: block j of 32 of a row.
 * books_avx512.h has the same functions for pairs of blocks, so that types/NAME.h has one text for
 * both. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOKS_AVX2_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOKS_AVX2_H

#include "book_scales.h"
#include "codes_avx2.h"

/* D of blocks of 256 from the f16 numbers in the low words of v. */
INLINE __m256 block_factors(__m256i v)
{
	return low_halves(v);
}

/* D times the signed byte j of the scales. */
INLINE void scaled(const struct head *h, int j, struct codes *c)
{
	const __m256i v = _mm256_slli_epi32(h->sc[j / 4], 24 - 8 * (j % 4));

	c->d = _mm256_mul_ps(h->d, _mm256_cvtepi32_ps(_mm256_srai_epi32(v, 24)));
}

/* Numbers of a codebook plus 2^shift. */
INLINE __m256i look_up_16(uint32_t dtype, const int8_t *book, __m256i v)
{
	__m128i b = _mm_loadu_si128((const void *)book);

	if (!is_signed(dtype))
		b = _mm_add_epi8(b, _mm_set1_epi8((char)(1 << kern_code_shift(dtype))));
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(b), v);
}

/* Bit j of each byte, at bit `to`. */
INLINE __m256i bit_to(__m256i v, int j, int to)
{
	v = j < to ? _mm256_slli_epi16(v, j < to ? to - j : 0)
		   : _mm256_srli_epi16(v, j < to ? 0 : j - to);
	return and8(v, (char)(1 << to));
}

/* Codes of 2 to 5 bits; those of 4 bits in the order of nibbles of 32. */
INLINE __m256i look_up_2(uint32_t dtype, const uint8_t *qs, int j)
{
	__m256i v = and8(_mm256_srli_epi16(ymm(qs + 32 * (j / 4)), 2 * (j % 4)), 3);

	return look_up_16(dtype, kern_codebook_iq2k, v);
}

INLINE __m256i look_up_3(uint32_t dtype, const uint8_t *qs, const uint8_t *qh, int j)
{
	__m256i v = and8(_mm256_srli_epi16(ymm(qs + 32 * (j / 4)), 2 * (j % 4)), 3);

	v = _mm256_or_si256(v, bit_to(ymm(qh), j, 2));
	return look_up_16(dtype, kern_codebook_iq3k, v);
}

INLINE __m256i look_up_4(uint32_t dtype, const uint8_t *qs, int j)
{
	return look_up_16(dtype, kern_codebook_iq4, nibbles(qs + 16 * j));
}

INLINE __m256i look_up_5(uint32_t dtype, const uint8_t *qs, const uint8_t *qh, int j)
{
	const __m256i v = ymm(qs + 32 * (j / 2)), high = bit_to(ymm(qh), j, 7);
	const __m256i q = and8(j % 2 ? _mm256_srli_epi16(v, 4) : v, 15);

	return _mm256_blendv_epi8(look_up_16(dtype, kern_codebook_iq5k, q),
				  look_up_16(dtype, kern_codebook_iq5k + 16, q), high);
}

/* Adds `by` to the halves of the block whose bits, from 2j on, are set in the 16 bits at p. */
INLINE __m256i second_of_halves(__m256i v, const uint8_t *p, int j, char by)
{
	const __m256i bits = _mm256_setr_m128i(_mm_set1_epi16((short)(1 << 2 * j)),
					       _mm_set1_epi16((short)(2 << 2 * j)));
	const __m256i second = _mm256_and_si256(_mm256_set1_epi16((short)load16(p)), bits);

	return _mm256_add_epi8(v, and8(_mm256_cmpeq_epi16(second, bits), by));
}

/* Adds `by` to the block if bit j of the byte at p is set. */
INLINE __m256i second_of_blocks(__m256i v, const uint8_t *p, int j, char by)
{
	return _mm256_add_epi8(v, _mm256_set1_epi8((char)(*p >> j & 1 ? by : 0)));
}

/* Adds `by` to the block if the lowest bit of byte j at p is set. */
INLINE __m256i second_of_bytes(__m256i v, const uint8_t *p, int j, char by)
{
	return _mm256_add_epi8(v, _mm256_set1_epi8((char)((p[j] & 1) * by)));
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_BOOKS_AVX2_H */
