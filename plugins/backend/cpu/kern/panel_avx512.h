/* SPDX-License-Identifier: MIT
 *
 * panel_avx512.h - many rows of x times weights that are unpacked to panels.
 *
 * A panel has sixteen weight rows, of which a vector holds the same four values, so that each lane
 * belongs to one row and nothing is added across lanes.  Two panels of PANEL_BLOCKS blocks of 32,
 * which stay in the first-level cache, are multiplied with all rows of x, a few at a time; then
 * come the next blocks of the same rows.  In between, the running sums are in the outputs. */
#ifndef LLAMAD_CPU_KERN_PANEL_AVX512_H
#define LLAMAD_CPU_KERN_PANEL_AVX512_H

#include <string.h>

#include "x86.h"

#define PANEL_ROWS   32 /* rows of two panels */
#define PANEL_BLOCKS 16 /* a multiple of the number of blocks of 32 in a larger block */
#define PANEL_TILE   6  /* largest number of rows of x that are multiplied together */

/* Rows of the weight that are multiplied with the same blocks of x in turn: with more than
 * PANEL_ROWS, x is read from the second-level cache even if all of it does not fit there. */
#define PANEL_STRIP   128u
#define PANEL_X_BYTES 0x50000
/* Rows of x whose blocks fit the second-level cache. */
#define PANEL_COLS 512u

/* The sums of the halves of a block fit 16 bits. */
INLINE bool panel_small_sums(uint32_t dtype)
{
	const int below = 1 << kern_code_shift(dtype), above = kern_greatest_code(dtype) - below;

	return (above > below ? above : below) * 127 * 16 <= INT16_MAX;
}

/* A block of 32 of sixteen rows in a panel: eight vectors of codes, D, and then, if present, M, the
 * factors of the halves, and the minima with their signs changed.  Factors of small sums, and
 * minima, are pairs of 16 bits for both halves. */
INLINE size_t panel_sc(uint32_t dtype)
{
	return 512 + 64 + (kern_has_m(dtype) ? 64 : 0);
}

INLINE size_t panel_mn(uint32_t dtype)
{
	if (!kern_has_halves(dtype))
		return panel_sc(dtype);
	return panel_sc(dtype) + (panel_small_sums(dtype) ? 64 : 128);
}

INLINE size_t panel_block(uint32_t dtype)
{
	return panel_mn(dtype) + (kern_has_minima(dtype) ? 64 : 0);
}

/* Bytes of a panel, which has room for one more block. */
INLINE size_t panel_bytes(uint32_t dtype)
{
	return (PANEL_BLOCKS + 1) * panel_block(dtype);
}

#define PANEL_MOST_BYTES ((PANEL_BLOCKS + 1) * 768)

/* Memory for two panels of any type. */
struct panels {
	_Alignas(KERN_ALIGN) char mem[2 * PANEL_MOST_BYTES];
};

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

/* Has the two halves of a block summed apart. */
INLINE bool panel_in_halves(uint32_t dtype)
{
	return kern_has_halves(dtype) || kern_has_two_d(dtype);
}

/* Rows of x that are multiplied together; their sums fit the registers. */
INLINE uint32_t panel_tile(uint32_t dtype)
{
	return panel_in_halves(dtype) ? 4 : PANEL_TILE;
}

/* The lower 16 bits of a and b as pairs. */
INLINE __m512i panel_pairs(__m512i a, __m512i b)
{
	return _mm512_mask_blend_epi16(0xaaaaaaaa, a, _mm512_slli_epi32(b, 16));
}

/* Sums of minimum*q over block b of sixteen rows. */
INLINE __m512i panel_minima(const char *mn, const char *x, uint32_t k, size_t b)
{
	long long h;

	memcpy(&h, x + KERN_Q8_H(k) + 8 * b, sizeof(h)); /* -2032 to 2032, twice */
	return _mm512_madd_epi16(_mm512_load_si512(mn),
				 _mm512_packs_epi32(_mm512_set1_epi64(h), _mm512_set1_epi64(h)));
}

/* Sums of the halves times their factors. */
INLINE __m512i panel_halves(uint32_t dtype, const char *sc, __m512i s0, __m512i s1)
{
	if (panel_small_sums(dtype))
		return _mm512_madd_epi16(panel_pairs(s0, s1), _mm512_load_si512(sc));
	return _mm512_add_epi32(_mm512_mullo_epi32(s0, _mm512_load_si512(sc)),
				_mm512_mullo_epi32(s1, _mm512_load_si512(sc + 64)));
}

/* What block b adds to the outputs of sixteen rows and a row of x.  s: sums of code*q over the
 * block, minus the shifts; those of its halves if these are apart. */
INLINE __m512 panel_term(uint32_t dtype, const char *panel, __m512i s, __m512i s1, const char *x,
			 uint32_t k, size_t b)
{
	const __m512 d = _mm512_load_ps(panel + 512), dx = all_floats(x + KERN_Q8_D(k), b);
	__m512 t, m;

	if (kern_has_halves(dtype))
		s = panel_halves(dtype, panel + panel_sc(dtype), s, s1);
	t = _mm512_mul_ps(_mm512_mul_ps(d, dx), _mm512_cvtepi32_ps(s));
	if (!kern_has_m(dtype))
		return t;
	m = _mm512_load_ps(panel + 576);
	if (kern_has_min(dtype))
		return _mm512_add_ps(t, _mm512_mul_ps(m, all_floats(x + KERN_Q8_E(k), b)));
	if (kern_has_minima(dtype))
		s1 = panel_minima(panel + panel_mn(dtype), x, k, b);
	return _mm512_add_ps(t, _mm512_mul_ps(_mm512_mul_ps(m, dx), _mm512_cvtepi32_ps(s1)));
}

/* The sums of a block before its products: minus the shifts. */
INLINE __m512i panel_shift(uint32_t dtype, const char *x, uint32_t k, size_t b, size_t half)
{
	const char *n = panel_in_halves(dtype) ? x + KERN_Q8_H(k) : x + KERN_Q8_N(k);

	if (!kern_code_shift(dtype))
		return _mm512_setzero_si512();
	return _mm512_slli_epi32(all(n, panel_in_halves(dtype) ? 2 * b + half : b),
				 kern_code_shift(dtype));
}

/* Adds blocks [b0, b0 + n) of two panels times n_col rows of x to y[i][at...].  n_col is
 * 1..PANEL_TILE and constant. */
INLINE void panel_pass(uint32_t dtype, const char *panel, const struct kern_product *p,
		       uint32_t c, uint32_t n_col, uint32_t at, size_t b0, size_t n)
{
	const uint32_t left = p->n_row - at, k = p->k;
	const size_t n_half = panel_in_halves(dtype) ? 2 : 1, n_word = 8 / n_half;
	const __mmask16 have[2] = {
		(__mmask16)(left < 16 ? (1u << left) - 1 : 0xffff),
		(__mmask16)(left < 16   ? 0
			    : left < 32 ? (1u << (left - 16)) - 1
					: 0xffff),
	};
	__m512 sum[2][PANEL_TILE];
	const char *x[PANEL_TILE];

#pragma GCC unroll 8
	for (uint32_t i = 0; i < n_col; i++) {
		x[i] = p->x[c + i];
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++)
			sum[j][i] = b0 ? _mm512_maskz_loadu_ps(have[j], p->y[c + i] + at + 16 * j)
				       : _mm512_setzero_ps();
	}
	for (size_t b = b0; b < b0 + n; b++, panel += panel_block(dtype)) {
		__m512i s[2][2][PANEL_TILE];

#pragma GCC unroll 2
		for (size_t h = 0; h < n_half; h++) {
#pragma GCC unroll 8
			for (uint32_t i = 0; i < n_col; i++)
				s[h][0][i] = s[h][1][i] = panel_shift(dtype, x[i], k, b, h);
#pragma GCC unroll 8
			for (size_t j = n_word * h; j < n_word * (h + 1); j++) {
				const __m512i w0 = _mm512_load_si512(panel + 64 * j);
				const __m512i w1 =
					_mm512_load_si512(panel + panel_bytes(dtype) + 64 * j);

#pragma GCC unroll 8
				for (uint32_t i = 0; i < n_col; i++) {
					const __m512i q = all(x[i] + 32 * b, j);

					s[h][0][i] = _mm512_dpbusd_epi32(s[h][0][i], w0, q);
					s[h][1][i] = _mm512_dpbusd_epi32(s[h][1][i], w1, q);
				}
			}
		}
#pragma GCC unroll 8
		for (uint32_t i = 0; i < n_col; i++) {
#pragma GCC unroll 2
			for (size_t j = 0; j < 2; j++)
				sum[j][i] = _mm512_add_ps(
					sum[j][i],
					panel_term(dtype, panel + j * panel_bytes(dtype),
						   s[0][j][i], s[n_half - 1][j][i], x[i], k,
						   b));
		}
	}
#pragma GCC unroll 8
	for (uint32_t i = 0; i < n_col; i++) {
#pragma GCC unroll 2
		for (int j = 0; j < 2; j++)
			_mm512_mask_storeu_ps(p->y[c + i] + at + 16 * j, have[j], sum[j][i]);
	}
}

/* Adds blocks [b, b + n) of two panels times rows [c, end) of x to rows [r, r + 32) of y. */
INLINE void panel_columns(uint32_t dtype, const struct panels *w, const struct kern_product *p,
			  uint32_t r, uint32_t c, uint32_t end, size_t b, size_t n)
{
	for (; c + panel_tile(dtype) <= end; c += panel_tile(dtype))
		panel_pass(dtype, w->mem, p, c, panel_tile(dtype), r, b, n);
	if (panel_tile(dtype) > 4 && c + 4 <= end) {
		panel_pass(dtype, w->mem, p, c, 4, r, b, n);
		c += 4;
	}
	if (c + 2 <= end) {
		panel_pass(dtype, w->mem, p, c, 2, r, b, n);
		c += 2;
	}
	if (c < end)
		panel_pass(dtype, w->mem, p, c, 1, r, b, n);
}

/* What is done for each type: */
struct panel_type {
	/* Unpacks blocks [b, b + n) of rows [r, r + 32), of which those that are missing may be
	 * anything. */
	void (*unpack)(const struct kern_product *p, uint32_t r, size_t b, size_t n,
		       struct panels *to);
	/* panel_columns() */
	void (*columns)(const struct panels *w, const struct kern_product *p, uint32_t r,
			uint32_t c, uint32_t end, size_t b, size_t n);
};

/* Not inlined: one copy serves all types of a source. */
__attribute__((noinline)) static void panel_product(const struct panel_type *type,
						    const struct kern_product *p)
{
	const size_t nb = p->k / 32;
	struct panels w;

	for (uint32_t c = 0; c < p->n_col; c += PANEL_COLS) {
		const uint32_t end = p->n_col - c < PANEL_COLS ? p->n_col : c + PANEL_COLS;
		const uint32_t strip = (end - c) * (uint64_t)KERN_Q8_N(p->k) > PANEL_X_BYTES
					       ? PANEL_STRIP
					       : PANEL_ROWS;

		for (uint32_t r0 = 0; r0 < p->n_row; r0 += strip) {
			const uint32_t r1 = p->n_row - r0 < strip ? p->n_row : r0 + strip;

			for (size_t b = 0; b < nb; b += PANEL_BLOCKS) {
				const size_t n = nb - b < PANEL_BLOCKS ? nb - b : PANEL_BLOCKS;

				for (uint32_t r = r0; r < r1; r += PANEL_ROWS) {
					type->unpack(p, r, b, n, &w);
					type->columns(&w, p, r, c, end, b, n);
				}
			}
		}
	}
}

/* Defines struct panel_type panels_TYPE; unpack_panels(dtype, ...) is inlined. */
#define PANEL_TYPE(type, unpack_panels)                                                            \
	static void unpack_##type(const struct kern_product *p, uint32_t r, size_t b, size_t n,    \
				  struct panels *to)                                               \
	{                                                                                          \
		unpack_panels(LMD_DTYPE_##type, p, r, b, n, to);                                   \
	}                                                                                          \
	static void columns_##type(const struct panels *w, const struct kern_product *p,           \
				   uint32_t r, uint32_t c, uint32_t end, size_t b, size_t n)       \
	{                                                                                          \
		panel_columns(LMD_DTYPE_##type, w, p, r, c, end, b, n);                            \
	}                                                                                          \
	static const struct panel_type panels_##type = {unpack_##type, columns_##type};

#endif /* LLAMAD_CPU_KERN_PANEL_AVX512_H */
