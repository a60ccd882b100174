/* SPDX-License-Identifier: MIT
 *
 * packed_pair_avx512.h - several rows of x times two groups of repacked weights at a time.
 *
 * Each number of x is loaded once for both groups: with one group, every product needs a load, and
 * processors that load two vectors a cycle could compute two products in it.  The integer sums of a
 * block fill the registers, so those of the outputs are in memory. */
#ifndef LLAMAD_CPU_KERN_PACKED_PAIR_AVX512_H
#define LLAMAD_CPU_KERN_PACKED_PAIR_AVX512_H

#include <string.h>

#include "packed_block_avx512.h"

#define PAIR_LEAST 4u /* rows of x */

/* Sums of code*q over block b, minus the shifts; or over one half of it, with half 0 or 1, which has
 * the low or the high codes of each byte. */
INLINE void pair_sums(uint32_t dtype, const char *const group[2], const void *const *x,
		      uint32_t n_col, uint32_t k, size_t b, int half, __m512i s[2][PASS])
{
	const int shift = (int)kern_code_shift(dtype);

#pragma GCC unroll 8
	for (uint32_t i = 0; i < n_col; i++) {
		const char *xi = x[i];

		s[0][i] = !shift      ? _mm512_setzero_si512()
			  : half < 0 ? _mm512_slli_epi32(all(xi + KERN_Q8_N(k), b), shift)
				     : _mm512_slli_epi32(all(xi + KERN_Q8_H(k), 2 * b + (size_t)half),
							 shift);
		s[1][i] = s[0][i];
	}
#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		__m512i low[2], high[2];

#pragma GCC unroll 2
		for (int g = 0; g < 2; g++)
			packed_words(dtype, group[g], j, &low[g], &high[g]);
#pragma GCC unroll 8
		for (uint32_t i = 0; i < n_col; i++) {
			const char *v = (const char *)x[i] + 32 * b;
			const __m512i q[2] = {all(v, (size_t)j), all(v, (size_t)j + 4)};

#pragma GCC unroll 2
			for (int g = 0; g < 2; g++) {
				if (half <= 0)
					s[g][i] = _mm512_dpbusd_epi32(s[g][i], low[g], q[0]);
				if (half)
					s[g][i] = _mm512_dpbusd_epi32(s[g][i], high[g], q[1]);
			}
		}
	}
}

/* Keeps the compiler from holding an array in registers. */
INLINE void stays_in_memory(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* Sums of P*q over block b of types with halves. */
INLINE void pair_halves(uint32_t dtype, const char *const group[2], const struct factors f[2],
			const void *const *x, uint32_t n_col, uint32_t k, size_t b,
			__m512i s[2][PASS])
{
	_Alignas(64) int32_t first[2][PASS][16];

#pragma GCC unroll 2
	for (int half = 0; half < 2; half++) {
		pair_sums(dtype, group, x, n_col, k, b, half, s);
#pragma GCC unroll 2
		for (int g = 0; g < 2; g++)
#pragma GCC unroll 8
			for (uint32_t i = 0; i < n_col; i++) {
				s[g][i] = _mm512_mullo_epi32(s[g][i], f[g].sc[half]);
				if (!half)
					_mm512_store_si512(first[g][i], s[g][i]);
				else
					s[g][i] = _mm512_add_epi32(
						s[g][i], _mm512_load_si512(first[g][i]));
			}
		stays_in_memory(first);
	}
}

/* y[i][at..] of two groups and n_col rows of x.  n_col is PAIR_LEAST..PASS and constant. */
INLINE void pair_pass(uint32_t dtype, const char *const groups[2], uint32_t k, const void *const *x,
		      uint32_t n_col, float *const *y, uint32_t at, __mmask16 have, const char *later)
{
	const size_t nb = k / 32, codes = kern_packed_codes(dtype);
	_Alignas(64) float sum[2][PASS][16];

	memset(sum, 0, sizeof(sum));
	for (size_t b = 0; b < nb; b++) {
		const char *const block[2] = {groups[0] + b * codes, groups[1] + b * codes};
		const size_t scales = nb * codes + kern_packed_scale(dtype, b);
		struct factors f[2];
		__m512i s[2][PASS];

		kern_packed_prefetch(dtype, later, b, 2 * KERN_GROUP);
		if (!kern_has_halves(dtype))
			pair_sums(dtype, block, x, n_col, k, b, -1, s);
		packed_factors(dtype, groups[0] + scales, b, &f[0]);
		packed_factors(dtype, groups[1] + scales, b, &f[1]);
		if (kern_has_halves(dtype))
			pair_halves(dtype, block, f, x, n_col, k, b, s);
#pragma GCC unroll 2
		for (int g = 0; g < 2; g++)
#pragma GCC unroll 8
			for (uint32_t i = 0; i < n_col; i++)
				_mm512_store_ps(sum[g][i],
						_mm512_add_ps(_mm512_load_ps(sum[g][i]),
							      packed_term(dtype, &f[g], s[g][i], x[i],
									  k, b)));
		stays_in_memory(sum);
	}
#pragma GCC unroll 8
	for (uint32_t i = 0; i < n_col; i++) {
		_mm512_storeu_ps(y[i] + at, _mm512_load_ps(sum[0][i]));
		_mm512_mask_storeu_ps(y[i] + at + 16, have, _mm512_load_ps(sum[1][i]));
	}
}

/* Rows [c, c + n) of x times two groups. */
INLINE void pair_columns(uint32_t dtype, const struct kern_product *p, uint32_t r, uint32_t c,
			 uint32_t n, const char *later)
{
	const char *group = (const char *)p->w + r / 16 * p->w_stride;
	const char *const groups[2] = {group, group + p->w_stride};
	const __mmask16 have =
		(__mmask16)(p->n_row - r < 32 ? (1u << (p->n_row - r - 16)) - 1 : 0xffff);

#define PAIR_CASE(n)                                                                               \
	case n:                                                                                    \
		pair_pass(dtype, groups, p->k, p->x + c, n, p->y + c, r, have, later);             \
		break;
	switch (n) {
		PAIR_CASE(4)
		PAIR_CASE(5)
		PAIR_CASE(6)
		PAIR_CASE(7)
		PAIR_CASE(8)
	}
#undef PAIR_CASE
}

/* All rows of x times the groups of rows [r, r + 32). */
INLINE void packed_pair(uint32_t dtype, const struct kern_product *p, uint32_t r)
{
	const uint32_t n_pass = (p->n_col + PASS - 1) / PASS;
	const char *later = kern_packed_later(p, r, 2);
	uint32_t c = 0;

	for (uint32_t i = 0; i < n_pass; i++) {
		uint32_t n = p->n_col / n_pass + (i < p->n_col % n_pass);

		pair_columns(dtype, p, r, c, n, later);
		c += n;
		later = NULL; /* the groups are in the cache now */
	}
}

#endif /* LLAMAD_CPU_KERN_PACKED_PAIR_AVX512_H */
