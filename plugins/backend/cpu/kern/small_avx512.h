/* SPDX-License-Identifier: MIT
 *
 * small_avx512.h - types of less than 4 bits: eight rows, two blocks of 32 at a time. */
#ifndef LLAMAD_CPU_KERN_SMALL_AVX512_H
#define LLAMAD_CPU_KERN_SMALL_AVX512_H

#include "grid_two_avx512.h"
#include "k_avx512.h"

INLINE void head_small(uint32_t dtype, const uint8_t *const w[8], size_t at, struct head *h)
{
	h->d = twice_halves(halves_at(w, at + kern_small_d(dtype)));
	if (dtype == LMD_DTYPE_Q2_K) {
		columns(w, at, false, h->sc);
		h->m = _mm512_xor_ps(twice_halves(halves_at(w, at + 82)), _mm512_set1_ps(-0.0f));
	}
}

/* The two bits from bit `by` and from bit `by` + 2 of 32 bytes. */
INLINE __m512i two_bits(const uint8_t *p, int by)
{
	__m512i v = _mm512_srlv_epi16(load_twice(p), words((short)by, (short)(by + 2)));

	return _mm512_and_si512(v, _mm512_set1_epi8(3));
}

/* One byte for each two bits of 16 bytes. */
INLINE __m512i spread(const uint8_t *p)
{
	__m512i v = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));

	v = _mm512_or_si512(v, _mm512_slli_epi32(v, 6));
	v = _mm512_or_si512(v, _mm512_slli_epi32(v, 12));
	return _mm512_and_si512(v, _mm512_set1_epi8(3));
}

INLINE __m512i trits_64(const uint8_t *b, int p)
{
	return _mm512_inserti64x4(_mm512_castsi256_si512(trits(b, 2 * p)), trits(b, 2 * p + 1), 1);
}

INLINE void codes_2(const struct head *h, const uint8_t *const w[8], size_t at, int p,
		    struct codes *c)
{
	const __m512i four = _mm512_set1_epi32(15);
	struct head low = {.d = h->d};
	__m512i mn = twice(_mm256_srli_epi16(h->sc[p], 4));

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = two_bits(w[r] + at + 16 + 32 * (p / 2), p % 2 * 4);
	low.sc[p] = _mm256_and_si256(h->sc[p], _mm256_set1_epi8(15));
	halves(&low, p, c);
	c->m = h->m;
	c->mn[0] = _mm512_and_si512(_mm512_srlv_epi32(mn, two(0, 16)), four);
	c->mn[1] = _mm512_and_si512(_mm512_srlv_epi32(mn, two(8, 24)), four);
}

/* Values -1, 0, 1 and 2 become codes 1 to 4, since the shift is 1. */
INLINE void codes_ternary(uint32_t dtype, const struct head *h, const uint8_t *const w[8],
			  size_t at, int p, struct codes *c)
{
	const __m512i one = _mm512_set1_epi8(1);

	c->d = h->d;
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		const uint8_t *b = w[r] + at;

		if (dtype == LMD_DTYPE_Q1_0) {
			uint64_t plus = load32(b + 2 + 8 * p) |
					(uint64_t)load32(b + 6 + 8 * p) << 32;

			c->q[r] = _mm512_mask_add_epi8(one, plus, one, _mm512_set1_epi8(2));
			continue;
		}
		c->q[r] = dtype == LMD_DTYPE_Q2_0    ? spread(b + 2)
			  : dtype == LMD_DTYPE_TQ1_0 ? trits_64(b, p)
						     : two_bits(b + 32 * (p / 2), p % 2 * 4);
		c->q[r] = _mm512_add_epi8(c->q[r], one);
	}
}

/* Reads a block of 256 of a type with points: codes of all pairs of blocks of 32. */
INLINE void head_points(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *const w[8],
			size_t at, struct head *h)
{
	uint8_t sc[8][16];
	struct grid_parts parts[8];
	const uint8_t *rows[8];

	grid_prepare(dtype, w, at, parts);
#pragma GCC unroll 1 /* long enough without unrolling */
	for (int r = 0; r < 8; r++) {
		const uint8_t *two[2] = {w[r & ~1] + at, w[r | 1] + at};
		struct grid g[2];

		rows[r] = sc[r];
		if (r % 2)
			continue;
		grid_two(dtype, t, two, true, parts + r, g);
#pragma GCC unroll 2
		for (int i = 0; i < 2; i++) {
			to_values(dtype, g[i].x);
#pragma GCC unroll 4
			for (int p = 0; p < 4; p++)
				h->points[p][r + i] =
					kern_is_iq1(dtype)
						? _mm512_add_epi8(g[i].x[p], _mm512_set1_epi8(1))
						: g[i].x[p];
			_mm_storeu_si128((void *)sc[r + i], _mm512_cvtepi32_epi8(g[i].sc));
		}
	}
	columns(rows, 0, false, h->sc);
	h->d = _mm512_castsi512_ps(twice(_mm256_castps_si256(grid_ds(dtype, w, at))));
}

INLINE void codes_points(const struct head *h, int p, struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = h->points[p][r];
	halves(h, p, c);
}

#include "blocks_256.h"

#endif /* LLAMAD_CPU_KERN_SMALL_AVX512_H */
