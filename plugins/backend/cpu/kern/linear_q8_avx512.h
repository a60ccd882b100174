/* SPDX-License-Identifier: MIT
 *
 * linear_q8_avx512.h - exact products with AVX-512 and VNNI for any type: kern_product_512.
 *
 * Few rows of x: rows_avx512.h.  For more rows of x, sixteen weight rows are rearranged into a
 * panel, so that a vector holds the same four values of all of them.  Then each lane belongs to
 * one row from the start and nothing is added across lanes; the rearrangement pays off from about
 * five rows of x on.  Panels are made for as many rows as fit the second-level cache, then all
 * rows of x are multiplied in tiles of sixteen. */
#ifndef LLAMAD_CPU_KERN_LINEAR_Q8_AVX512_H
#define LLAMAD_CPU_KERN_LINEAR_Q8_AVX512_H

#include <string.h>

#include "grid_rows_avx512.h"
#include "rows_avx512.h"

#define TILE        16      /* rows of x that are multiplied together with a panel */
#define STRIP_BYTES 0x40000 /* size of the panels, at least one */

/* ---- panels ---- */

/* A block of 32 of sixteen rows in a panel: eight vectors of codes, D, and then, if present, M, the
 * factors of the halves, and the minima. */
INLINE size_t panel_sc(uint32_t dtype)
{
	return 512 + 64 + (kern_has_m(dtype) ? 64 : 0);
}

INLINE size_t panel_mn(uint32_t dtype)
{
	return panel_sc(dtype) + (kern_has_halves(dtype) ? 128 : 0);
}

INLINE size_t panel_block(uint32_t dtype)
{
	return panel_mn(dtype) + (kern_has_minima(dtype) ? 128 : 0);
}

/* Stores both halves of v at the same place of two blocks. */
INLINE void store_halves(char *to, size_t block, __m512i v)
{
	_mm256_store_si256((void *)to, _mm512_castsi512_si256(v));
	_mm256_store_si256((void *)(to + block), _mm512_extracti64x4_epi64(v, 1));
}

/* Stores the codes of eight rows in lanes of a panel; `to`: the block, plus 32 bytes for rows
 * 8-15. */
INLINE void store_codes(uint32_t dtype, const struct codes *c, char *to)
{
	const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
	const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
	const size_t block = panel_block(dtype);
	__m512i t[2][4];

#pragma GCC unroll 8
	for (int i = 0; i < 2; i++) {
		const __m512i *q = c->q + 4 * i;
		__m512i a = _mm512_unpacklo_epi32(q[0], q[1]),
			b = _mm512_unpackhi_epi32(q[0], q[1]);
		__m512i e = _mm512_unpacklo_epi32(q[2], q[3]),
			f = _mm512_unpackhi_epi32(q[2], q[3]);

		t[i][0] = _mm512_unpacklo_epi64(a, e);
		t[i][1] = _mm512_unpackhi_epi64(a, e);
		t[i][2] = _mm512_unpacklo_epi64(b, f);
		t[i][3] = _mm512_unpackhi_epi64(b, f);
	}
#pragma GCC unroll 8
	for (int j = 0; j < 4; j++) {
		store_halves(to + 64 * j, block, _mm512_permutex2var_epi64(t[0][j], low, t[1][j]));
		store_halves(to + 64 * (j + 4), block,
			     _mm512_permutex2var_epi64(t[0][j], high, t[1][j]));
	}
	store_halves(to + 512, block, _mm512_castps_si512(c->d));
	if (kern_has_m(dtype))
		store_halves(to + 576, block, _mm512_castps_si512(c->m));
	if (kern_has_halves(dtype)) {
		store_halves(to + panel_sc(dtype), block,
			     _mm512_permutex2var_epi64(c->sc[0], low, c->sc[1]));
		store_halves(to + panel_sc(dtype) + 64, block,
			     _mm512_permutex2var_epi64(c->sc[0], high, c->sc[1]));
	}
	for (int i = 0; kern_has_minima(dtype) && i < 2; i++)
		store_halves(to + panel_mn(dtype) + 64 * i, block, c->mn[i]);
}

INLINE void pack8(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *const w[8],
		  uint32_t k, char *to)
{
	const int pairs = (int)kern_n_sub_blocks(dtype) / 2;
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype), block = panel_block(dtype);
	struct codes c;
	size_t b = 0, at = 0;

	for (; kern_has_iq_tables(dtype) && b < nb; b += 8, at += bytes) {
		struct head h;

		head_points(dtype, points, w, at, &h);
#pragma GCC unroll 1 /* long enough without unrolling */
		for (int p = 0; p < 4; p++, to += 2 * block) {
			codes_points(&h, p, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (; kern_is_k(dtype) && !kern_has_iq_tables(dtype) && b < nb;
	     b += kern_n_sub_blocks(dtype), at += bytes) {
		struct head h;

		head_large(dtype, w, at, &h);
#pragma GCC unroll 4
		for (int p = 0; p < pairs; p++, to += 2 * block) {
			codes_large(dtype, &h, w, at, p, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (; !kern_is_k(dtype) && b + 2 <= nb; b += 2, at += 2 * bytes, to += 2 * block) {
		codes_32(dtype, w, at, true, &c);
		store_codes(dtype, &c, to);
	}
	if (!kern_is_k(dtype) && b < nb) {
		codes_32(dtype, w, at, false, &c);
		store_codes(dtype, &c, to); /* the panel has room for one more block */
	}
}

INLINE __m512i all(const char *array, size_t i)
{
	int32_t v;

	memcpy(&v, array + 4 * i, sizeof(v));
	return _mm512_set1_epi32(v);
}

INLINE __m512 all_floats(const char *array, size_t i)
{
	return _mm512_castsi512_ps(all(array, i));
}

/* out[0]: sum of code*q over block b of sixteen rows, minus the shifts.  With two D: that of the
 * first 16 values, and in out[1] that of the others. */
INLINE void panel_sums(uint32_t dtype, const __m512i w[8], const __m512i sc[2], const char *x,
		       uint32_t k, size_t b, __m512i out[2])
{
	const char *q = x + 32 * b;
	__m512i s, s1;

	if (!kern_has_halves(dtype) && !kern_has_two_d(dtype)) {
		s = kern_code_shift(dtype)
			    ? _mm512_slli_epi32(all(x + KERN_Q8_N(k), b), kern_code_shift(dtype))
			    : _mm512_setzero_si512();
#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			s = _mm512_dpbusd_epi32(s, w[j], all(q, j));
		out[0] = s;
		return;
	}
	s = s1 = _mm512_setzero_si512();
	if (kern_code_shift(dtype)) {
		s = _mm512_slli_epi32(all(x + KERN_Q8_H(k), 2 * b), kern_code_shift(dtype));
		s1 = _mm512_slli_epi32(all(x + KERN_Q8_H(k), 2 * b + 1), kern_code_shift(dtype));
	}
#pragma GCC unroll 8
	for (size_t j = 0; j < 4; j++) {
		s = _mm512_dpbusd_epi32(s, w[j], all(q, j));
		s1 = _mm512_dpbusd_epi32(s1, w[j + 4], all(q, j + 4));
	}
	out[1] = s1;
	out[0] = kern_has_two_d(dtype) ? s
				       : _mm512_add_epi32(_mm512_mullo_epi32(s, sc[0]),
							  _mm512_mullo_epi32(s1, sc[1]));
}

/* Sum of minimum*q over block b of sixteen rows. */
INLINE __m512i panel_minima(const __m512i mn[2], const char *x, uint32_t k, size_t b)
{
	__m512i s0 = _mm512_mullo_epi32(mn[0], all(x + KERN_Q8_H(k), 2 * b));
	__m512i s1 = _mm512_mullo_epi32(mn[1], all(x + KERN_Q8_H(k), 2 * b + 1));

	return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_add_epi32(s0, s1));
}

/* y[i][0..n_row) of a panel and n_col rows of x.  n_col is 1..TILE and constant. */
INLINE void pass(uint32_t dtype, const char *panel, uint32_t k, const void *const *x,
		 uint32_t n_col, float *const *y, uint32_t at, __mmask16 have)
{
	__m512 sum[TILE];

#pragma GCC unroll 16
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm512_setzero_ps();
	for (size_t b = 0; b < k / 32; b++, panel += panel_block(dtype)) {
		__m512i w[8], sc[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
		__m512i mn[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
		__m512 d = _mm512_load_ps(panel + 512), m = _mm512_setzero_ps();

#pragma GCC unroll 8
		for (size_t j = 0; j < 8; j++)
			w[j] = _mm512_load_si512(panel + 64 * j);
		if (kern_has_m(dtype))
			m = _mm512_load_ps(panel + 576);
		for (int i = 0; kern_has_halves(dtype) && i < 2; i++)
			sc[i] = _mm512_load_si512(panel + panel_sc(dtype) + 64 * i);
		for (int i = 0; kern_has_minima(dtype) && i < 2; i++)
			mn[i] = _mm512_load_si512(panel + panel_mn(dtype) + 64 * i);
#pragma GCC unroll 16
		for (uint32_t i = 0; i < n_col; i++) {
			const char *xi = x[i];
			const __m512 dx = all_floats(xi + KERN_Q8_D(k), b);
			__m512i s[2];
			__m512 t;

			panel_sums(dtype, w, sc, xi, k, b, s);
			t = _mm512_mul_ps(_mm512_mul_ps(d, dx), _mm512_cvtepi32_ps(s[0]));
			if (kern_has_min(dtype))
				t = _mm512_add_ps(
					t, _mm512_mul_ps(m, all_floats(xi + KERN_Q8_E(k), b)));
			if (kern_has_minima(dtype))
				s[1] = panel_minima(mn, xi, k, b);
			if (kern_has_minima(dtype) || kern_has_two_d(dtype))
				t = _mm512_add_ps(t, _mm512_mul_ps(_mm512_mul_ps(m, dx),
								   _mm512_cvtepi32_ps(s[1])));
			sum[i] = _mm512_add_ps(sum[i], t);
		}
	}
#pragma GCC unroll 16
	for (uint32_t i = 0; i < n_col; i++)
		_mm512_mask_storeu_ps(y[i] + at, have, sum[i]);
}

INLINE size_t panel_bytes(uint32_t dtype, uint32_t k)
{
	return (k / 32 + 1) * panel_block(dtype);
}

INLINE uint32_t n_panels(uint32_t dtype, uint32_t k)
{
	size_t n = STRIP_BYTES / panel_bytes(dtype, k);

	return n < 1 ? 1 : n > 16 ? 16 : (uint32_t)n;
}

/* All panels of a strip times rows [c, c + n_col) of x. */
INLINE void tile(uint32_t dtype, const struct kern_product *p, uint32_t r, uint32_t n_row,
		 uint32_t c, uint32_t n_col)
{
	const char *panel = p->scratch;

	for (uint32_t i = 0; i < n_row; i += 16, panel += panel_bytes(dtype, p->k))
		pass(dtype, panel, p->k, p->x + c, n_col, p->y + c, r + i,
		     (__mmask16)(n_row - i < 16 ? (1u << (n_row - i)) - 1 : 0xffff));
}

INLINE void many(uint32_t dtype, const struct kern_product *p)
{
	const uint32_t strip = 16 * n_panels(dtype, p->k);

	for (uint32_t r = 0; r < p->n_row; r += strip) {
		uint32_t n_row = p->n_row - r < strip ? p->n_row - r : strip, c = 0;
		char *panel = p->scratch;

		for (uint32_t i = 0; i < n_row; i += 16, panel += panel_bytes(dtype, p->k)) {
			const uint8_t *w[8];

			kern_row_addresses(p, r + i, 8, w);
			pack8(dtype, p->points, w, p->k, panel);
			kern_row_addresses(p, r + i + 8, 8, w);
			pack8(dtype, p->points, w, p->k, panel + 32);
		}
		for (; c + TILE <= p->n_col; c += TILE)
			tile(dtype, p, r, n_row, c, TILE);
		for (; c + 4 <= p->n_col; c += 4)
			tile(dtype, p, r, n_row, c, 4);
		for (; c < p->n_col; c++)
			tile(dtype, p, r, n_row, c, 1);
	}
}

INLINE void kern_product_512(uint32_t dtype, const struct kern_product *p)
{
	if (p->n_col <= FEW && kern_has_iq_tables(dtype))
		grid_few(dtype, p);
	else if (p->n_col <= FEW)
		few(dtype, p);
	else
		many(dtype, p);
}

/* Defines the kernel of a type and its entry in a list. */
#define KERN_VNNI(type)                                                                            \
	static size_t scratch_##type(uint32_t k)                                                   \
	{                                                                                          \
		return n_panels(LMD_DTYPE_##type, k) * panel_bytes(LMD_DTYPE_##type, k);           \
	}                                                                                          \
	static void run_##type(const struct kern_linear *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col)                                                                      \
			kern_product_512(LMD_DTYPE_##type, p);                                     \
	}
#define KERN_512_ENTRY(type, name, more)                                                           \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_Q8, .isa = name, .exact = true,         \
		.flags = LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI | (more),             \
		.scratch_bytes = scratch_##type, .run = run_##type                                 \
	}
#define KERN_VNNI_ENTRY(type) KERN_512_ENTRY(type, "vnni", 0)
#define KERN_VBMI_ENTRY(type) KERN_512_ENTRY(type, "vbmi", LMD_CPU_AVX512_VBMI)

#endif /* LLAMAD_CPU_KERN_LINEAR_Q8_AVX512_H */
