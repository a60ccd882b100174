/* SPDX-License-Identifier: MIT
 *
 * grid_rows_avx512.h - types whose values are points of a grid: up to four rows of x times eight
 * weight rows at a time, read in place. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_ROWS_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_ROWS_AVX512_H

#include "rows_avx512.h"

/* 256 values of a row of x, in the order of struct grid. */
struct grid_x {
	__m512i q[4];
	__m512i zero[2]; /* what products of codes begin with */
};

/* With one row of x its values get the signs, otherwise the weights do. */
INLINE bool signs_in_x(uint32_t dtype, uint32_t n_col)
{
	return n_col == 1 && !kern_has_codes(dtype);
}

INLINE void grid_x_read(uint32_t dtype, uint32_t n_col, const char *x, size_t b, struct grid_x *g)
{
	const bool fine = kern_has_fine_factors(dtype);

#pragma GCC unroll 4
	for (size_t m = 0; m < 4; m++)
		g->q[m] = load_q(x, b + 2 * m);
	from_values(dtype, g->q);
	g->zero[0] = g->zero[1] = _mm512_setzero_si512();
	if (signs_in_x(dtype, n_col))
		return;
#pragma GCC unroll 4
	for (size_t m = 0; m < 4; m++)
		g->zero[fine ? m / 2 : 0] = _mm512_dpbusd_epi32(g->zero[fine ? m / 2 : 0],
								_mm512_set1_epi8(1), g->q[m]);
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++) {
		__m512i s = g->zero[i];

		g->zero[i] = kern_is_iq1(dtype)
				     ? _mm512_sub_epi32(s, _mm512_slli_epi32(s, 4))
				     : _mm512_sub_epi32(_mm512_setzero_si512(),
							_mm512_slli_epi32(
								s, kern_code_shift(dtype)));
	}
}

/* For each four lanes: the sums of neighbours in a, then in b. */
INLINE __m512i neighbours(__m512i a, __m512i b)
{
	__m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);

	return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88)),
				_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xdd)));
}

/* Sums of a row times its factors: two lanes for each block of 32. */
INLINE __m512i grid_sums(uint32_t dtype, uint32_t n_col, const struct grid_parts *parts,
			 const struct grid *g, const struct grid_x *x)
{
	const bool fine = kern_has_fine_factors(dtype);
	__m512i s[2] = {x->zero[0], x->zero[1]};

#pragma GCC unroll 4
	for (int m = 0; m < 4; m++) {
		__m512i q = x->q[m];

		if (signs_in_x(dtype, n_col))
			q = _mm512_mask_sub_epi8(q, parts->minus[m], _mm512_setzero_si512(), q);
		s[fine ? m / 2 : 0] = _mm512_dpbusd_epi32(s[fine ? m / 2 : 0], g->x[m], q);
	}
	return _mm512_mullo_epi32(fine ? neighbours(s[0], s[1]) : s[0], g->sc);
}

/* Adds a block of 256 to the sums of eight rows.  y[i]: lanes 4n to 4n + 3 have blocks 2n and
 * 2n + 1 of 32 of row 2i, and the same of row 2i + 1. */
INLINE void add_256(const __m512i y[4], __m256 d, const char *x, uint32_t k, size_t b, __m256 *sum)
{
	const __m512 f[4] = {_mm512_castsi512_ps(y[0]), _mm512_castsi512_ps(y[1]),
			     _mm512_castsi512_ps(y[2]), _mm512_castsi512_ps(y[3])};
	const __m512 dd = _mm512_castsi512_ps(twice(_mm256_castps_si256(d)));
	__m512i v[4];

	v[0] = _mm512_castps_si512(_mm512_shuffle_ps(f[0], f[1], 0x88));
	v[1] = _mm512_castps_si512(_mm512_shuffle_ps(f[2], f[3], 0x88));
	v[2] = _mm512_castps_si512(_mm512_shuffle_ps(f[0], f[1], 0xdd));
	v[3] = _mm512_castps_si512(_mm512_shuffle_ps(f[2], f[3], 0xdd));
	transpose_lanes(v);
#pragma GCC unroll 4
	for (size_t i = 0; i < 4; i++) {
		__m512 t = _mm512_mul_ps(dd, pair_of_floats(x + KERN_Q8_D(k), b + 2 * i));

		t = _mm512_mul_ps(t, _mm512_cvtepi32_ps(v[i]));
		*sum = _mm256_add_ps(*sum, _mm512_castps512_ps256(t));
		*sum = _mm256_add_ps(*sum, _mm512_extractf32x8_ps(t, 1));
	}
}

/* n_col is 1..FEW and constant. */
INLINE void grid_rows8(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *const w[8],
		       const void *const *x, uint32_t k, const uint8_t *later, uint32_t n_col,
		       __m256 sum[FEW])
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype);

	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (size_t b = 0, at = 0; b < nb; b += 8, at += bytes) {
		struct grid_x gx[FEW];
		__m512i y[FEW][4];
		__m256 d = grid_ds(dtype, w, at);
		struct grid_parts parts[8];

		prefetch_rows(later, at, bytes);
		grid_prepare(dtype, w, at, parts);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			grid_x_read(dtype, n_col, x[i], b, &gx[i]);
#pragma GCC unroll 1 /* long enough without unrolling */
		for (int r = 0; r < 8; r += 2) {
			const uint8_t *two[2] = {w[r] + at, w[r + 1] + at};
			struct grid g[2];

			grid_two(dtype, t, two, !signs_in_x(dtype, n_col), parts + r, g);
#pragma GCC unroll 4
			for (uint32_t i = 0; i < n_col; i++)
				y[i][r / 2] = neighbours(grid_sums(dtype, n_col, parts + r, &g[0], &gx[i]),
							 grid_sums(dtype, n_col, parts + r + 1, &g[1], &gx[i]));
		}
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			add_256(y[i], d, x[i], k, b, &sum[i]);
	}
}

INLINE void grid_few(uint32_t dtype, const struct kern_product *p)
{
	/* Three rows of x are multiplied as if they were four. */
	const void *x[FEW];

	for (uint32_t i = 0; i < FEW; i++)
		x[i] = p->x[i < p->n_col ? i : p->n_col - 1];
	for (uint32_t r = 0; r < p->n_row; r += 8) {
		const __mmask8 have =
			(__mmask8)(p->n_row - r < 8 ? (1u << (p->n_row - r)) - 1 : 255);
		const uint8_t *w[8], *later = kern_later_rows(p, r, 8);
		__m256 sum[FEW];

		kern_row_addresses(p, r, 8, w);
		if (p->n_col == 1)
			grid_rows8(dtype, p->points, w, x, p->k, later, 1, sum);
		else if (p->n_col == 2)
			grid_rows8(dtype, p->points, w, x, p->k, later, 2, sum);
		else
			grid_rows8(dtype, p->points, w, x, p->k, later, FEW, sum);
		for (uint32_t i = 0; i < p->n_col; i++)
			_mm256_mask_storeu_ps(p->y[i] + r, have, sum[i]);
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_ROWS_AVX512_H */
