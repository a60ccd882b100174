/* SPDX-License-Identifier: MIT
 *
 * small_avx2.h - types of less than 4 bits: eight rows, one block of 32 at a time. */
#ifndef LLAMAD_CPU_KERN_SMALL_AVX2_H
#define LLAMAD_CPU_KERN_SMALL_AVX2_H

#include "codes_avx2.h"

INLINE void head_small(uint32_t dtype, const uint8_t *const w[8], size_t at, struct head *h)
{
	if (kern_has_iq_tables(dtype)) {
#pragma GCC unroll 1
		for (int r = 0; r < 8; r++)
			grid_prepare(dtype, w[r] + at, &h->points[r]);
		h->d = _mm256_mul_ps(low_halves(point_ds(dtype, w, at)),
				     _mm256_set1_ps(kern_point_unit(dtype)));
		return;
	}
	h->d = low_halves(halves_at(w, at + kern_small_d(dtype)));
	if (dtype == LMD_DTYPE_Q2_K) {
		columns(w, at, false, h->sc);
		h->m = _mm256_xor_ps(low_halves(halves_at(w, at + 82)), _mm256_set1_ps(-0.0f));
	}
}

INLINE void codes_2(const struct head *h, const uint8_t *const w[8], size_t at, int j,
		    struct codes *c)
{
	const __m256i four = _mm256_set1_epi32(15);
	struct head low = {.d = h->d};
	__m256i sc = h->sc[j / 2];

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = and8(_mm256_srli_epi16(ymm(w[r] + at + 16 + 32 * (j / 4)), 2 * (j % 4)),
			       3);
	low.sc[j / 2] = and8(sc, 15);
	halves(&low, j, c);
	c->m = h->m;
	c->mn[0] = _mm256_and_si256(_mm256_srli_epi32(sc, 16 * (j % 2) + 4), four);
	c->mn[1] = _mm256_and_si256(_mm256_srli_epi32(sc, 16 * (j % 2) + 12), four);
}

/* One byte for each two bits of 8 bytes. */
INLINE __m256i spread(const uint8_t *p)
{
	__m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));

	v = _mm256_or_si256(v, _mm256_slli_epi32(v, 6));
	v = _mm256_or_si256(v, _mm256_slli_epi32(v, 12));
	return and8(v, 3);
}

/* Values -1, 0, 1 and 2 become codes 1 to 4, since the shift is 1. */
INLINE void codes_ternary(uint32_t dtype, const struct head *h, const uint8_t *const w[8],
			  size_t at, int j, struct codes *c)
{
	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		if (dtype == LMD_DTYPE_Q1_0)
			c->q[r] = and8(bytes_of_bits(load32(b + 2 + 4 * j)), 2);
		else if (dtype == LMD_DTYPE_Q2_0)
			c->q[r] = spread(b + 2 + 8 * j);
		else if (dtype == LMD_DTYPE_TQ1_0)
			c->q[r] = trits(b, j);
		else
			c->q[r] = and8(_mm256_srli_epi16(ymm(b + 32 * (j / 4)), 2 * (j % 4)), 3);
		c->q[r] = _mm256_add_epi8(c->q[r], _mm256_set1_epi8(1));
	}
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

#include "blocks_256.h"

#endif /* LLAMAD_CPU_KERN_SMALL_AVX2_H */
