/* SPDX-License-Identifier: MIT
 *
 * rows_avx2.h - few rows of x times eight weight rows at a time, read in place; rows_avx512.h with
 * half the width.  Products of bytes are added in 16 bits as long as the largest codes times -127
 * cannot overflow, then in 32 bits. */
#ifndef LLAMAD_CPU_KERN_ROWS_AVX2_H
#define LLAMAD_CPU_KERN_ROWS_AVX2_H

#include <string.h>

#include "small_avx2.h"

#define FEW         4       /* largest number of rows of x for rows8 */

INLINE __m256i all(const char *array, size_t i)
{
	int32_t v;

	memcpy(&v, array + 4 * i, sizeof(v));
	return _mm256_set1_epi32(v);
}

INLINE __m256 all_floats(const char *array, size_t i)
{
	return _mm256_castsi256_ps(all(array, i));
}

/* Products of bytes, with neighbours added: |sum| <= 32512. */
INLINE __m256i multiply(uint32_t dtype, __m256i codes, __m256i q)
{
	if (is_signed(dtype))
		return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(q, codes));
	return _mm256_maddubs_epi16(codes, q);
}

INLINE __m256i widen(__m256i v)
{
	return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
}

/* D * d * sums[0]; plus M * e; or M * d * sums[1], which are minima or the second D. */
INLINE __m256 terms(uint32_t dtype, __m256 d, __m256 m, const __m256i sums[2], const char *x,
		    uint32_t k, size_t b)
{
	__m256 dx = all_floats(x + KERN_Q8_D(k), b);
	__m256 t = _mm256_mul_ps(_mm256_mul_ps(d, dx), _mm256_cvtepi32_ps(sums[0]));

	if (kern_has_min(dtype))
		t = _mm256_add_ps(t, _mm256_mul_ps(m, all_floats(x + KERN_Q8_E(k), b)));
	if (kern_has_minima(dtype) || kern_has_two_d(dtype))
		t = _mm256_add_ps(t,
				  _mm256_mul_ps(_mm256_mul_ps(m, dx), _mm256_cvtepi32_ps(sums[1])));
	return t;
}

/* The minima of the halves times the sums of x over the halves of block b. */
INLINE __m256i minima(const __m256i mn[2], const char *x, uint32_t k, size_t b)
{
	__m256i s0 = _mm256_mullo_epi32(mn[0], all(x + KERN_Q8_H(k), 2 * b));
	__m256i s1 = _mm256_mullo_epi32(mn[1], all(x + KERN_Q8_H(k), 2 * b + 1));

	return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_add_epi32(s0, s1));
}

/* ---- eight rows, few columns ---- */

/* out[0]: for each row the sum of (code - 2^shift)*q over block b.  With two D: that of the first
 * 16 values, and in out[1] that of the others.  With minima: out[1] is their sum. */
INLINE void block_sums(uint32_t dtype, const struct codes *c, const char *x, uint32_t k, size_t b,
		       __m256i out[2])
{
	const bool in_halves = kern_has_halves(dtype) || kern_has_two_d(dtype);
	const __m256i q = _mm256_loadu_si256((const void *)(x + 32 * b));
	__m256i s[8], u[2], low, high;

#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		s[r] = widen(multiply(dtype, c->q[r], q));
#pragma GCC unroll 8
	for (int i = 0; i < 2; i++)
		u[i] = _mm256_hadd_epi32(_mm256_hadd_epi32(s[4 * i], s[4 * i + 1]),
					 _mm256_hadd_epi32(s[4 * i + 2], s[4 * i + 3]));
	if (in_halves) {
		__m256i h =
			_mm256_setr_m128i(_mm256_castsi256_si128(all(x + KERN_Q8_H(k), 2 * b)),
					  _mm256_castsi256_si128(all(x + KERN_Q8_H(k), 2 * b + 1)));

		h = shift_of(dtype) ? _mm256_slli_epi32(h, (int)shift_of(dtype))
				    : _mm256_setzero_si256();
#pragma GCC unroll 8
		for (int i = 0; i < 2; i++) {
			u[i] = _mm256_add_epi32(u[i], h);
			if (kern_has_halves(dtype))
				u[i] = _mm256_mullo_epi32(u[i], c->sc[i]);
		}
	}
	/* The halves of u[i] are sums over the halves of the block. */
	low = _mm256_permute2x128_si256(u[0], u[1], 0x20);
	high = _mm256_permute2x128_si256(u[0], u[1], 0x31);
	out[0] = kern_has_two_d(dtype) ? low : _mm256_add_epi32(low, high);
	out[1] = kern_has_minima(dtype) ? minima(c->mn, x, k, b) : high;
	if (shift_of(dtype) && !in_halves)
		out[0] = _mm256_add_epi32(
			out[0], _mm256_slli_epi32(all(x + KERN_Q8_N(k), b), (int)shift_of(dtype)));
}

INLINE void add_block(uint32_t dtype, const struct codes *c, const void *const *x, uint32_t k,
		      size_t b, uint32_t n_col, __m256 sum[FEW])
{
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++) {
		__m256i s[2];

		block_sums(dtype, c, x[i], k, b, s);
		sum[i] = _mm256_add_ps(sum[i], terms(dtype, c->d, c->m, s, x[i], k, b));
	}
}

/* Unpacks the blocks of 32 in the larger block at `at` of eight rows to c, which has room for eight. */
typedef void unpack_fn(const struct kern_iq_tables *points, const uint8_t *const w[8], size_t at,
		       __m256 row_d, struct codes *c);

/* The source of these functions.  Types whose code is long have one that is called whatever the number of
 * rows of x: they are not slower for it, and copies of it would take most of the time to compile them. */
INLINE void unpack(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *const w[8],
		   size_t at, __m256 row_d, struct codes *c)
{
	struct head h;

	if (kern_has_iq_tables(dtype)) {
		head_points(dtype, w, at, &h);
#pragma GCC unroll 1 /* long enough without unrolling */
		for (int j = 0; j < 8; j++)
			codes_points(dtype, points, &h, w, at, j, &c[j]);
		return;
	}
	h.d = row_d;
	head_large(dtype, w, at, &h);
#pragma GCC unroll 8
	for (int j = 0; j < (int)kern_n_sub_blocks(dtype); j++)
		codes_large(dtype, &h, w, at, j, &c[j]);
}

/* n_col is 1..FEW and constant; far: NULL or the function that unpacks. */
INLINE void rows8(uint32_t dtype, unpack_fn *far, const struct kern_iq_tables *points,
		  const uint8_t *const w[8], const void *const *x, uint32_t k, const uint8_t *later,
		  uint32_t n_col, __m256 sum[FEW])
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype), parts = kern_n_sub_blocks(dtype);
	const __m256 row_d = row_factors(dtype, w);
	const size_t first = kern_row_head(dtype);

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (size_t b = 0, at = first; far && b < nb; b += parts, at += bytes) {
		struct codes c[8];

		prefetch_rows(later, at, bytes);
		far(points, w, at, row_d, c);
#pragma GCC unroll 1
		for (size_t j = 0; j < parts; j++)
			add_block(dtype, &c[j], x, k, b + j, n_col, sum);
	}
	for (size_t b = 0, at = first; !far && kern_is_k(dtype) && b < nb;
	     b += parts, at += bytes) {
		struct head h;
		struct codes c;

		h.d = row_d;
		head_large(dtype, w, at, &h);
#pragma GCC unroll 8
		for (int j = 0; j < (int)parts; j++) {
			prefetch_rows(later, at + bytes / parts * (size_t)j, bytes / parts);
			codes_large(dtype, &h, w, at, j, &c);
			add_block(dtype, &c, x, k, b + (size_t)j, n_col, sum);
		}
	}
	for (size_t b = 0, at = first; !kern_is_k(dtype) && b < nb; b++, at += bytes) {
		struct codes c;

		prefetch_rows(later, at, bytes);
		codes_32(dtype, w, at, &c);
		c.d = first ? row_d : c.d;
		add_block(dtype, &c, x, k, b, n_col, sum);
	}
}

/* The first n of eight floats. */
INLINE void store(float *y, __m256 v, uint32_t n)
{
	float f[8];

	if (n >= 8) {
		_mm256_storeu_ps(y, v);
		return;
	}
	_mm256_storeu_ps(f, v);
	for (uint32_t i = 0; i < n; i++)
		y[i] = f[i];
}

/* The first n of eight floats at y, and zeros. */
INLINE __m256 load(const float *y, uint32_t n)
{
	float f[8] = {0};

	if (n >= 8)
		return _mm256_loadu_ps(y);
	for (uint32_t i = 0; i < n; i++)
		f[i] = y[i];
	return _mm256_loadu_ps(f);
}

INLINE void few(uint32_t dtype, unpack_fn *far, const struct kern_product *p)
{
	/* Three rows of x are multiplied as if they were four. */
	const void *x[FEW];

	for (uint32_t i = 0; i < FEW; i++)
		x[i] = p->x[i < p->n_col ? i : p->n_col - 1];
	for (uint32_t r = 0; r < p->n_row; r += 8) {
		const uint8_t *w[8], *later = kern_later_rows(p, r, 8);
		__m256 sum[FEW];

		kern_row_addresses(p, r, 8, w);
		if (p->n_col == 1)
			rows8(dtype, far, p->points, w, p->x, p->k, later, 1, sum);
		else if (p->n_col == 2)
			rows8(dtype, far, p->points, w, p->x, p->k, later, 2, sum);
		else
			rows8(dtype, far, p->points, w, x, p->k, later, FEW, sum);
		for (uint32_t i = 0; i < p->n_col; i++)
			store(p->y[i] + r, sum[i], p->n_row - r);
	}
}

#endif /* LLAMAD_CPU_KERN_ROWS_AVX2_H */
