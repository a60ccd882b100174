/* SPDX-License-Identifier: MIT
 *
 * small_avx2.h - types of less than 4 bits, eight rows, one block of 32 at a time; and the files of
 * all types. */
#ifndef LLAMAD_CPU_KERN_SMALL_AVX2_H
#define LLAMAD_CPU_KERN_SMALL_AVX2_H

#include "books_avx2.h"
#include "codes_avx2.h"
#include "types.h"

/* Reads the header of a block of a type with points. */
INLINE void head_points(uint32_t dtype, const uint8_t *const w[8], size_t at, struct head *h)
{
#pragma GCC unroll 1
	for (int r = 0; r < 8; r++)
		grid_prepare(dtype, w[r] + at, &h->points[r]);
	h->d = _mm256_mul_ps(low_halves(point_ds(dtype, w, at)),
			     _mm256_set1_ps(kern_point_unit(dtype)));
}

/* One byte for each two bits of 8 bytes. */
INLINE __m256i spread(const uint8_t *p)
{
	__m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));

	v = _mm256_or_si256(v, _mm256_slli_epi32(v, 6));
	v = _mm256_or_si256(v, _mm256_slli_epi32(v, 12));
	return and8(v, 3);
}

/* Codes of the values -1, 0, 1 and 2, which become 1 to 4, since the shift is 1. */
INLINE __m256i plus_one(__m256i v)
{
	return _mm256_add_epi8(v, _mm256_set1_epi8(1));
}

INLINE void codes_points(uint32_t dtype, const struct kern_iq_tables *t, const struct head *h,
			 const uint8_t *const w[8], size_t at, int j, struct codes *c)
{
	const __m256i zero = _mm256_set1_epi8((char)(1 << kern_code_shift(dtype)));

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const struct grid_parts *g = &h->points[r];
		__m256i x = grid_points(dtype, t, w[r] + at, g, (size_t)j);
		__m256i minus = bytes_of_bits(load32(g->signs + 4 * j));

		if (kern_is_iq1(dtype)) /* 1 or -1 */
			x = _mm256_add_epi8(x, _mm256_or_si256(minus, _mm256_set1_epi8(1)));
		else
			x = _mm256_add_epi8(zero,
					    _mm256_sub_epi8(_mm256_xor_si256(x, minus), minus));
		c->q[r] = x;
	}
	c->d = h->d;
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++) {
		const struct grid_parts *g = h->points + 4 * i;

		c->sc[i] = _mm256_setr_epi32(g[0].sc[2 * j], g[1].sc[2 * j], g[2].sc[2 * j],
					     g[3].sc[2 * j], g[0].sc[2 * j + 1],
					     g[1].sc[2 * j + 1], g[2].sc[2 * j + 1],
					     g[3].sc[2 * j + 1]);
	}
}

#define KERN_PART KERN_PART_AVX2
#include "types.gen.h"
#include "blocks_of_types.h"

#endif /* LLAMAD_CPU_KERN_SMALL_AVX2_H */
