/* SPDX-License-Identifier: MIT
 *
 * rows_avx512.h - few rows of x times eight weight rows at a time, read in place.  A block of a
 * row times a block of x leaves its sum in several lanes.  The sums of eight rows are reduced
 * together to one lane for each row, and are then added block by block to the running sums, as
 * kern.h demands. */
#ifndef LLAMAD_CPU_KERN_ROWS_AVX512_H
#define LLAMAD_CPU_KERN_ROWS_AVX512_H

#include "k_avx512.h"
#include "nibbles_avx512.h"
#include "small_avx512.h"

#define FEW 4 /* largest number of rows of x for rows8 */

/* ---- rows of x ---- */

INLINE __m512i load_q(const char *x, size_t b)
{
	return _mm512_loadu_si512(x + 32 * b);
}

/* Elements b and b+1 of an array of a row, in lanes 0-7 and 8-15. */
INLINE __m512i pair_of(const char *array, size_t b)
{
	const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);

	return _mm512_permutexvar_epi32(
		lanes, _mm512_castsi128_si512(_mm_loadl_epi64((const void *)(array + 4 * b))));
}

INLINE __m512 pair_of_floats(const char *array, size_t b)
{
	return _mm512_castsi512_ps(pair_of(array, b));
}

/* ---- eight rows, few columns ---- */

/* For each four lanes: the sums of neighbours in a, then in b.  A lane is a sum of `values`
 * products; if that fits in 16 bits, one shuffle is saved. */
INLINE __m512i add_pairs(uint32_t dtype, int values, __m512i a, __m512i b)
{
	__m512 even, odd;

	if (kern_greatest_code(dtype) * 127 * values <= INT16_MAX)
		return _mm512_madd_epi16(_mm512_packs_epi32(a, b), _mm512_set1_epi16(1));
	even = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88);
	odd = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd);
	return _mm512_add_epi32(_mm512_castps_si512(even), _mm512_castps_si512(odd));
}

/* For each four lanes: the sums of all in v[0], v[1], v[2], v[3]. */
INLINE __m512i add_fours(uint32_t dtype, int values, const __m512i *v)
{
	return add_pairs(dtype, 2 * values, add_pairs(dtype, values, v[0], v[1]),
			 add_pairs(dtype, values, v[2], v[3]));
}

/* The sums of rows from those of their halves: of each four lanes, 0 and 1 belong to block b, 2 and
 * 3 to block b+1. */
INLINE __m512i sum_of_halves(const __m512i u[2])
{
	__m512i sum = _mm512_add_epi32(_mm512_shuffle_i32x4(u[0], u[1], 0x88),
				       _mm512_shuffle_i32x4(u[0], u[1], 0xdd));

	return _mm512_shuffle_i32x4(sum, sum, 0xd8);
}

/* out[0]: for each row the sum of code*q over blocks b and b+1, minus 2^shift times the sums of q.
 * With two D: that of the first 16 values, and in out[1] that of the others. */
INLINE void block_sums(uint32_t dtype, const struct codes *c, const char *x, uint32_t k, size_t b,
		       __m512i out[2])
{
	const bool in_halves = kern_has_halves(dtype) || kern_has_two_d(dtype);
	const __m512i q = load_q(x, b), zero = _mm512_setzero_si512();
	__m512i s[8], u[2], even, odd, sum;

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		s[r] = _mm512_dpbusd_epi32(zero, c->q[r], q);
#pragma GCC unroll 8
	for (int i = 0; i < 2; i++)
		u[i] = add_fours(dtype, 4, s + 4 * i);
	if (in_halves) {
		const __m512i lanes =
			_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
		__m512i h = _mm512_castsi128_si512(
			_mm_loadu_si128((const void *)(x + KERN_Q8_H(k) + 8 * b)));

		h = _mm512_slli_epi32(_mm512_permutexvar_epi32(lanes, h), kern_code_shift(dtype));
#pragma GCC unroll 8
		for (int i = 0; i < 2; i++) {
			if (kern_code_shift(dtype))
				u[i] = _mm512_add_epi32(u[i], h);
			if (kern_has_halves(dtype))
				u[i] = _mm512_mullo_epi32(u[i], c->sc[i]);
		}
	}
	if (kern_has_two_d(dtype)) {
		even = _mm512_shuffle_i32x4(u[0], u[1], 0x88);
		odd = _mm512_shuffle_i32x4(u[0], u[1], 0xdd);
		out[0] = _mm512_shuffle_i32x4(even, even, 0xd8);
		out[1] = _mm512_shuffle_i32x4(odd, odd, 0xd8);
		return;
	}
	sum = sum_of_halves(u);
	if (kern_code_shift(dtype) && !in_halves)
		sum = _mm512_add_epi32(sum, _mm512_slli_epi32(pair_of(x + KERN_Q8_N(k), b),
							      kern_code_shift(dtype)));
	out[0] = sum;
}

/* For each row the sums of minimum*q over blocks b and b+1. */
INLINE __m512i minima_sums(const struct codes *c, const char *x, uint32_t k, size_t b)
{
	const __m512i low = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
	const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(1));
	__m512i h = _mm512_castsi128_si512(
		_mm_loadu_si128((const void *)(x + KERN_Q8_H(k) + 8 * b)));
	__m512i s0 = _mm512_mullo_epi32(c->mn[0], _mm512_permutexvar_epi32(low, h));
	__m512i s1 = _mm512_mullo_epi32(c->mn[1], _mm512_permutexvar_epi32(high, h));

	return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_add_epi32(s0, s1));
}

INLINE void add_blocks(uint32_t dtype, const struct codes *c, const char *x, uint32_t k, size_t b,
		       bool both, __m256 *sum)
{
	const __m512 dx = pair_of_floats(x + KERN_Q8_D(k), b);
	__m512i i[2];
	__m512 t;

	block_sums(dtype, c, x, k, b, i);
	t = _mm512_mul_ps(_mm512_mul_ps(c->d, dx), _mm512_cvtepi32_ps(i[0]));
	if (kern_has_min(dtype))
		t = _mm512_add_ps(t, _mm512_mul_ps(c->m, pair_of_floats(x + KERN_Q8_E(k), b)));
	if (kern_has_minima(dtype))
		i[1] = minima_sums(c, x, k, b);
	if (kern_has_minima(dtype) || kern_has_two_d(dtype))
		t = _mm512_add_ps(
			t, _mm512_mul_ps(_mm512_mul_ps(c->m, dx), _mm512_cvtepi32_ps(i[1])));
	*sum = _mm256_add_ps(*sum, _mm512_castps512_ps256(t));
	if (both)
		*sum = _mm256_add_ps(*sum, _mm512_extractf32x8_ps(t, 1));
}

/* Like add_blocks for a type with numbers; blocks b and b+1 are blocks 2p and 2p + 1 of the larger
 * block at `at`.  Each byte of a number is multiplied by q, so that the bytes need not be added and
 * packed to values. */
INLINE void add_numbers(uint32_t dtype, const struct head *h, const uint8_t *const w[8], size_t at,
			int p, const char *x, uint32_t k, size_t b, __m256 *sum)
{
	const __m512i q = load_q(x, b), zero = _mm512_setzero_si512();
	__m512i s[8], four[4], u[2], i;
	struct codes c;
	__m512 t;

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) /* each of bytes 4j to 4j + 3 of a quarter four times */
		four[j] = _mm512_shuffle_epi8(
			q, _mm512_add_epi8(_mm512_broadcast_i32x4(_mm_setr_epi8(
						   0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)),
					   _mm512_set1_epi8((char)(4 * j))));
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		__m512i v[4];

		numbers_of_blocks(dtype, w[r] + at, p, v);
		s[r] = zero;
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			s[r] = _mm512_dpbusd_epi32(
				s[r], _mm512_and_si512(v[j], _mm512_set1_epi8(63)), four[j]);
	}
#pragma GCC unroll 2
	for (int j = 0; j < 2; j++)
		u[j] = add_fours(dtype, 4, s + 4 * j);
	i = _mm512_add_epi32(sum_of_halves(u), _mm512_mullo_epi32(pair_of(x + KERN_Q8_N(k), b),
								   _mm512_set1_epi32(126)));
	scaled(h, p, &c);
	t = _mm512_mul_ps(_mm512_mul_ps(c.d, pair_of_floats(x + KERN_Q8_D(k), b)),
			  _mm512_cvtepi32_ps(i));
	*sum = _mm256_add_ps(*sum, _mm512_castps512_ps256(t));
	*sum = _mm256_add_ps(*sum, _mm512_extractf32x8_ps(t, 1));
}

/* Elements b ... b+3 of an array of a row, in four lanes each. */
INLINE __m512i four_of(const char *array, size_t b)
{
	const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	__m128i v = _mm_loadu_si128((const void *)(array + 4 * b));

	return _mm512_permutexvar_epi32(lanes, _mm512_castsi128_si512(v));
}

INLINE __m512 four_of_floats(const char *array, size_t b)
{
	return _mm512_castsi512_ps(four_of(array, b));
}

/* Like add_blocks, for blocks b ... b+3. */
INLINE void add_quad(uint32_t dtype, const struct quad *c, const char *x, uint32_t k, size_t b,
		     __m256 *sum)
{
	const __m512i low = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
	const __m512i high = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
	const __m512i ab = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
	const __m512i cd = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
	const __m512i q0 = load_q(x, b), q1 = load_q(x, b + 2);
	const __m512i ql = _mm512_permutex2var_epi64(q0, low, q1);
	const __m512i qh = _mm512_permutex2var_epi64(q0, high, q1);
	__m512i s[8], u;
	__m512d t[2];

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++) {
		s[r] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), c->low[r], ql);
		s[r] = _mm512_dpbusd_epi32(s[r], c->high[r], qh);
	}
#pragma GCC unroll 8
	for (int i = 0; i < 2; i++) {
		__m512 v;

		u = add_fours(dtype, 8, s + 4 * i);
		if (kern_code_shift(dtype))
			u = _mm512_add_epi32(u, _mm512_slli_epi32(four_of(x + KERN_Q8_N(k), b),
								  kern_code_shift(dtype)));
		v = _mm512_mul_ps(c->d[i], four_of_floats(x + KERN_Q8_D(k), b));
		v = _mm512_mul_ps(v, _mm512_cvtepi32_ps(u));
		if (kern_has_min(dtype))
			v = _mm512_add_ps(
				v, _mm512_mul_ps(c->m[i], four_of_floats(x + KERN_Q8_E(k), b)));
		t[i] = _mm512_castps_pd(v);
	}
	for (int i = 0; i < 2; i++) {
		__m512 v = _mm512_castpd_ps(_mm512_permutex2var_pd(t[0], i ? cd : ab, t[1]));

		*sum = _mm256_add_ps(*sum, _mm512_castps512_ps256(v));
		*sum = _mm256_add_ps(*sum, _mm512_extractf32x8_ps(v, 1));
	}
}

/* n_col is 1..FEW and constant.  Not for types with points: grid_rows_avx512.h. */
INLINE void rows8(uint32_t dtype, const uint8_t *const w[8], const void *const *x, uint32_t k,
		  const uint8_t *later, uint32_t n_col, __m256 sum[FEW])
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype);
	const int pairs = (int)kern_n_sub_blocks(dtype) / 2;
	const __m512 row_d = row_factors(dtype, w);
	struct codes c;
	size_t b = 0, at = kern_row_head(dtype);

	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (; kern_is_k(dtype) && b < nb; b += kern_n_sub_blocks(dtype), at += bytes) {
		struct head h;

		h.d = row_d;
		head_large(dtype, w, at, &h);
#pragma GCC unroll 4
		for (int p = 0; p < pairs; p++) {
			prefetch_rows(later, at + bytes / (size_t)pairs * (size_t)p,
				      bytes / (size_t)pairs);
			if (kern_has_numbers(dtype) && n_col == 1) {
				add_numbers(dtype, &h, w, at, p, x[0], k, b + 2 * (size_t)p,
					    sum);
				continue;
			}
			codes_large(dtype, &h, w, at, p, &c);
#pragma GCC unroll 4
			for (uint32_t i = 0; i < n_col; i++)
				add_blocks(dtype, &c, x[i], k, b + 2 * (size_t)p, true, &sum[i]);
		}
	}
	for (; kern_has_quads(dtype) && b + 4 <= nb; b += 4, at += 4 * bytes) {
		struct quad four;

		prefetch_rows(later, at, 4 * bytes);
		quad_codes(dtype, w, at, &four);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			add_quad(dtype, &four, x[i], k, b, &sum[i]);
	}
	for (; !kern_is_k(dtype) && b + 2 <= nb; b += 2, at += 2 * bytes) {
		prefetch_rows(later, at, 2 * bytes);
		codes_32(dtype, w, at, true, &c);
		c.d = kern_row_head(dtype) ? row_d : c.d;
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			add_blocks(dtype, &c, x[i], k, b, true, &sum[i]);
	}
	if (!kern_is_k(dtype) && b < nb) {
		codes_32(dtype, w, at, false, &c);
		c.d = kern_row_head(dtype) ? row_d : c.d;
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++)
			add_blocks(dtype, &c, x[i], k, b, false, &sum[i]);
	}
}

INLINE void few(uint32_t dtype, const struct kern_product *p)
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
			rows8(dtype, w, p->x, p->k, later, 1, sum);
		else if (p->n_col == 2)
			rows8(dtype, w, p->x, p->k, later, 2, sum);
		else
			rows8(dtype, w, x, p->k, later, FEW, sum);
		for (uint32_t i = 0; i < p->n_col; i++)
			_mm256_mask_storeu_ps(p->y[i] + r, have, sum[i]);
	}
}

#endif /* LLAMAD_CPU_KERN_ROWS_AVX512_H */
