/* SPDX-License-Identifier: MIT
 *
 * grid_avx2.h - types whose values are points of a grid (iq_tables.h): prepares the indices, signs
 * and factors of a block of 256 of one row.  They are read back from memory one by one, which is
 * fast only some time after they have been written; so they are prepared for eight rows. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_AVX2_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_AVX2_H

#include "x86.h"

/* All in the order of the values. */
struct grid_parts {
	uint16_t index[64]; /* unless they are bytes of the block */
	uint8_t signs[32];  /* a bit for each value that is negative, or has the - 1 (IQ1) */
	uint8_t sc[16];
};

INLINE __m256i and_words(__m256i v, short mask)
{
	return _mm256_and_si256(v, _mm256_set1_epi16(mask));
}

INLINE __m256i load_256(const uint8_t *p)
{
	return _mm256_loadu_si256((const void *)p);
}

INLINE __m128i load_128(const uint8_t *p)
{
	return _mm_loadu_si128((const void *)p);
}

/* ---- signs ---- */

/* Puts the four 7-bit indices of each dword into bytes. */
INLINE __m256i sevens(__m256i v)
{
	__m256i a = _mm256_and_si256(v, _mm256_set1_epi32(0x7f));
	__m256i b = _mm256_and_si256(_mm256_slli_epi32(v, 1), _mm256_set1_epi32(0x7f00));
	__m256i c = _mm256_and_si256(_mm256_slli_epi32(v, 2), _mm256_set1_epi32(0x7f0000));
	__m256i d = _mm256_and_si256(_mm256_slli_epi32(v, 3), _mm256_set1_epi32(0x7f000000));

	return _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
}

/* Adds an eighth sign to seven, so that the number of minus signs is even. */
INLINE __m256i even_signs(__m256i v)
{
	const __m256i odd = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128,
			      0));
	__m256i n = _mm256_xor_si256(v, _mm256_srli_epi16(v, 4));

	return _mm256_or_si256(v, _mm256_shuffle_epi8(odd, and_words(n, 0x0f0f)));
}

/* Eight dwords with four sign indices and a scale each (IQ2_XXS, IQ3_XXS). */
INLINE __m256i signs_and_scales(uint32_t dtype, const uint8_t *b)
{
	__m256 v;

	if (dtype == LMD_DTYPE_IQ3_XXS)
		return load_256(b + 66);
	v = _mm256_shuffle_ps(_mm256_castsi256_ps(load_256(b + 2)),
			      _mm256_castsi256_ps(load_256(b + 34)), 0xdd);
	return _mm256_permute4x64_epi64(_mm256_castps_si256(v), 0xd8);
}

/* The low bytes of the words of a and then of b. */
INLINE __m256i low_bytes(__m256i a, __m256i b)
{
	return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8);
}

INLINE __m256i grid_signs(uint32_t dtype, const uint8_t *b)
{
	__m128i v, low, high;

	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ3_XXS:
		return even_signs(sevens(signs_and_scales(dtype, b)));
	case LMD_DTYPE_IQ2_XS:
		return even_signs(low_bytes(_mm256_srli_epi16(load_256(b + 2), 9),
					    _mm256_srli_epi16(load_256(b + 34), 9)));
	case LMD_DTYPE_IQ1_S:
		return _mm256_cvtepi16_epi32(_mm_srai_epi16(load_128(b + 34), 15));
	case LMD_DTYPE_IQ1_M:
		v = load_128(b + 32);
		low = _mm_cmpgt_epi8(_mm_setzero_si128(), _mm_slli_epi16(v, 4));
		high = _mm_cmpgt_epi8(_mm_setzero_si128(), v);
		return _mm256_setr_m128i(_mm_unpacklo_epi8(low, high),
					 _mm_unpackhi_epi8(low, high));
	default: /* IQ2_S, IQ3_S */
		return load_256(b + (dtype == LMD_DTYPE_IQ2_S ? 34 : 74));
	}
}

/* ---- factors ---- */

/* 2 * n + 1 for each byte n. */
INLINE __m128i odd_factors(__m128i n)
{
	return _mm_or_si128(_mm_add_epi8(n, n), _mm_set1_epi8(1));
}

/* The nibbles of eight bytes. */
INLINE __m128i eight_nibbles(__m128i v)
{
	const __m128i four = _mm_set1_epi8(15);

	return _mm_unpacklo_epi8(_mm_and_si128(v, four),
				 _mm_and_si128(_mm_srli_epi16(v, 4), four));
}

/* The four 3-bit numbers of each of four words (IQ1_M). */
INLINE __m128i threes(const uint8_t *p)
{
	const __m256i order = _mm256_setr_epi64x((long long)0x8080010080800100,
						 (long long)0x8080010080800100,
						 (long long)0x8080030280800302,
						 (long long)0x8080030280800302);
	const __m256i by = _mm256_setr_epi32(0, 3, 6, 9, 0, 3, 6, 9);
	const __m256i seven = _mm256_set1_epi32(7);
	__m256i a = _mm256_set1_epi32((int)load32(p)), b = _mm256_set1_epi32((int)load32(p + 4));

	a = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(a, order), by), seven);
	b = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(b, order), by), seven);
	a = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8);
	return _mm_packus_epi16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
}

INLINE __m128i grid_factors(uint32_t dtype, const uint8_t *b)
{
	__m256i d;
	__m128i v;

	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ3_XXS:
		d = _mm256_srli_epi32(signs_and_scales(dtype, b), 28);
		v = _mm_packus_epi32(_mm256_castsi256_si128(d), _mm256_extracti128_si256(d, 1));
		return odd_factors(_mm_or_si128(v, _mm_slli_epi16(v, 8)));
	case LMD_DTYPE_IQ3_S:
		v = eight_nibbles(_mm_cvtsi32_si128((int)load32(b + 106)));
		return odd_factors(_mm_unpacklo_epi8(v, v));
	case LMD_DTYPE_IQ1_S:
		v = _mm_and_si128(_mm_srli_epi16(load_128(b + 34), 12), _mm_set1_epi16(7));
		return odd_factors(_mm_or_si128(v, _mm_slli_epi16(v, 8)));
	case LMD_DTYPE_IQ1_M:
		return odd_factors(threes(b + 48));
	default: /* IQ2_XS, IQ2_S */
		b += dtype == LMD_DTYPE_IQ2_XS ? 66 : 74;
		return odd_factors(eight_nibbles(_mm_loadl_epi64((const void *)b)));
	}
}

/* ---- indices ---- */

/* Four words for each of four words or bytes: itself times the words of `by`. */
INLINE __m256i four_times(__m256i v, long long by)
{
	const __m256i order = _mm256_setr_epi64x(0x0100010001000100, 0x0908090809080908,
						 0x0100010001000100, 0x0908090809080908);

	return _mm256_mullo_epi16(_mm256_shuffle_epi8(v, order), _mm256_set1_epi64x(by));
}

/* The bits above the low 8 of indices 16h to 16h + 15, in place. */
INLINE __m256i high_bits(uint32_t dtype, const uint8_t *b, size_t h)
{
	const __m256i bits = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
					       4096, 8192, 16384, (short)0x8000);
	__m256i v, w;

	switch (dtype) {
	case LMD_DTYPE_IQ2_S:
		v = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)load32(b + 66 + 4 * h)));
		return and_words(four_times(v, 0x0004001000400100), 0x300);
	case LMD_DTYPE_IQ3_S:
		v = _mm256_set1_epi16((short)load16(b + 66 + 2 * h));
		return and_words(_mm256_cmpeq_epi16(_mm256_and_si256(v, bits), bits), 0x100);
	case LMD_DTYPE_IQ1_S:
		v = _mm256_cvtepu16_epi64(_mm_loadl_epi64((const void *)(b + 34 + 8 * h)));
		w = _mm256_srli_epi16(four_times(v, 0x0001000100010001), 1);
		v = four_times(v, 0x0000000400200100);
		return and_words(_mm256_blend_epi16(v, w, 0x88), 0x700);
	default: /* IQ1_M */
		v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(b + 32 + 8 * h)));
		v = _mm256_or_si256(v, _mm256_slli_epi32(v, 12));
		return and_words(_mm256_slli_epi16(v, 8), 0x700);
	}
}

INLINE void grid_indices(uint32_t dtype, const uint8_t *b, uint16_t index[64])
{
	const size_t n = dtype == LMD_DTYPE_IQ3_S ? 4 : 2;
	const uint8_t *qs = b + (dtype == LMD_DTYPE_IQ1_M ? 0 : 2);

	if (dtype == LMD_DTYPE_IQ2_XXS || dtype == LMD_DTYPE_IQ3_XXS)
		return;
#pragma GCC unroll 4
	for (size_t h = 0; h < n; h++) {
		__m256i v;

		if (dtype == LMD_DTYPE_IQ2_XS)
			v = and_words(load_256(qs + 32 * h), 511);
		else
			v = _mm256_or_si256(_mm256_cvtepu8_epi16(load_128(qs + 16 * h)),
					    high_bits(dtype, b, h));
		_mm256_storeu_si256((void *)(index + 16 * h), v);
	}
}

INLINE void grid_prepare(uint32_t dtype, const uint8_t *b, struct grid_parts *g)
{
	grid_indices(dtype, b, g->index);
	_mm256_storeu_si256((void *)g->signs, grid_signs(dtype, b));
	_mm_storeu_si128((void *)g->sc, grid_factors(dtype, b));
}

/* ---- points ---- */

INLINE __m128i two_points(const uint64_t *t, uint32_t a, uint32_t b)
{
	__m128 v = _mm_castsi128_ps(_mm_loadl_epi64((const void *)(t + a)));

	return _mm_castps_si128(_mm_loadh_pi(v, (const void *)(t + b)));
}

/* Block j < 8 of 32 values: magnitudes, or 8 * v + 16 (IQ1). */
INLINE __m256i grid_points(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *b,
			   const struct grid_parts *g, size_t j)
{
	const uint64_t *eight = dtype == LMD_DTYPE_IQ2_XXS  ? t->iq2_xxs
				: dtype == LMD_DTYPE_IQ2_XS ? t->iq2_xs
				: dtype == LMD_DTYPE_IQ2_S  ? t->iq2_s
							    : t->iq1;
	const uint32_t *four = dtype == LMD_DTYPE_IQ3_XXS ? t->iq3_xxs : t->iq3_s;
	const bool of_four = dtype == LMD_DTYPE_IQ3_XXS || dtype == LMD_DTYPE_IQ3_S;
	const size_t n = of_four ? 8 : 4;
	uint32_t i[8];

#pragma GCC unroll 8
	for (size_t l = 0; l < n; l++)
		i[l] = dtype == LMD_DTYPE_IQ2_XXS || dtype == LMD_DTYPE_IQ3_XXS
			       ? b[2 + 8 * j + l]
			       : g->index[n * j + l];
	if (of_four)
		return _mm256_setr_epi32((int)four[i[0]], (int)four[i[1]], (int)four[i[2]],
					 (int)four[i[3]], (int)four[i[4]], (int)four[i[5]],
					 (int)four[i[6]], (int)four[i[7]]);
	return _mm256_setr_m128i(two_points(eight, i[0], i[1]), two_points(eight, i[2], i[3]));
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_AVX2_H */
