/* SPDX-License-Identifier: MIT
 *
 * linear_q8_avx2.h - exact products with AVX2 for any type, computed in two ways as with AVX-512
 * (linear_q8_avx512.h): few rows of x times eight weight rows in place (rows_avx2.h), more rows of
 * x times panels of eight rearranged weight rows. */
#ifndef LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H
#define LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H

#include "rows_avx2.h"

#define TILE        4       /* rows of x that are multiplied together with a panel */
#define STRIP_BYTES 0x30000 /* size of the panels, at least one */

/* ---- panels ---- */

/* A block of 32 of eight rows in a panel: eight vectors of codes, D, and then, if present, M, the
 * factors of the halves, and the minima. */
INLINE size_t panel_sc(uint32_t dtype)
{
	return kern_has_m(dtype) ? 10 : 9;
}

INLINE size_t panel_mn(uint32_t dtype)
{
	return panel_sc(dtype) + (kern_has_halves(dtype) ? 2 : 0);
}

INLINE size_t panel_block(uint32_t dtype)
{
	return 32 * (panel_mn(dtype) + (kern_has_minima(dtype) ? 2 : 0));
}

INLINE void store_codes(uint32_t dtype, const struct codes *c, char *to)
{
	__m256i t[2][4];
	__m256i *out = (void *)to;

#pragma GCC unroll 8
	for (int i = 0; i < 2; i++) {
		const __m256i *q = c->q + 4 * i;
		__m256i a = _mm256_unpacklo_epi32(q[0], q[1]),
			b = _mm256_unpackhi_epi32(q[0], q[1]);
		__m256i e = _mm256_unpacklo_epi32(q[2], q[3]),
			f = _mm256_unpackhi_epi32(q[2], q[3]);

		t[i][0] = _mm256_unpacklo_epi64(a, e);
		t[i][1] = _mm256_unpackhi_epi64(a, e);
		t[i][2] = _mm256_unpacklo_epi64(b, f);
		t[i][3] = _mm256_unpackhi_epi64(b, f);
	}
#pragma GCC unroll 8
	for (int j = 0; j < 4; j++) {
		out[j] = _mm256_permute2x128_si256(t[0][j], t[1][j], 0x20);
		out[j + 4] = _mm256_permute2x128_si256(t[0][j], t[1][j], 0x31);
	}
	out[8] = _mm256_castps_si256(c->d);
	if (kern_has_m(dtype))
		out[9] = _mm256_castps_si256(c->m);
	if (kern_has_halves(dtype)) {
		out[panel_sc(dtype)] = _mm256_permute2x128_si256(c->sc[0], c->sc[1], 0x20);
		out[panel_sc(dtype) + 1] = _mm256_permute2x128_si256(c->sc[0], c->sc[1], 0x31);
	}
	for (size_t i = 0; kern_has_minima(dtype) && i < 2; i++)
		out[panel_mn(dtype) + i] = c->mn[i];
}

INLINE void pack8(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *const w[8],
		  uint32_t k, char *to)
{
	const size_t nb = k / 32, bytes = kern_block_bytes(dtype), block = panel_block(dtype);
	const size_t parts = kern_n_sub_blocks(dtype), first = kern_row_head(dtype);
	const __m256 row_d = row_factors(dtype, w);
	struct codes c;

	for (size_t b = 0, at = 0; kern_has_iq_tables(dtype) && b < nb; b += 8, at += bytes) {
		struct head h;

		head_points(dtype, w, at, &h);
#pragma GCC unroll 1 /* long enough without unrolling */
		for (int j = 0; j < 8; j++, to += block) {
			codes_points(dtype, points, &h, w, at, j, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (size_t b = 0, at = first; kern_is_k(dtype) && !kern_has_iq_tables(dtype) && b < nb;
	     b += parts, at += bytes) {
		struct head h;

		h.d = row_d;
		head_large(dtype, w, at, &h);
#pragma GCC unroll 8
		for (int j = 0; j < (int)parts; j++, to += block) {
			codes_large(dtype, &h, w, at, j, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (size_t b = 0, at = first; !kern_is_k(dtype) && b < nb; b++, at += bytes, to += block) {
		codes_32(dtype, w, at, &c);
		c.d = first ? row_d : c.d;
		store_codes(dtype, &c, to);
	}
}

/* How many products can be added in 16 bits; each is at most 2 * 127 * the largest code.  There are
 * eight vectors in a block and four in a half. */
INLINE int group(uint32_t dtype)
{
	const int n = INT16_MAX / (2 * 127 * kern_greatest_code(dtype));

	if (is_signed(dtype) || n < 2)
		return 1;
	return n < 4 ? 2 : n < 8 || kern_has_halves(dtype) || kern_has_two_d(dtype) ? 4 : 8;
}

/* Sum over the values from 4j on of vectors [from, to) of a block. */
INLINE __m256i panel_part(uint32_t dtype, const __m256i *w, const char *q, int from, int to)
{
	__m256i sum = _mm256_setzero_si256();

#pragma GCC unroll 8
	for (int j = from; j < to; j += group(dtype)) {
		__m256i s = multiply(dtype, w[j], all(q, (size_t)j));

#pragma GCC unroll 8
		for (int g = 1; g < group(dtype); g++)
			s = _mm256_add_epi16(s, multiply(dtype, w[j + g], all(q, (size_t)(j + g))));
		sum = j == from ? widen(s) : _mm256_add_epi32(sum, widen(s));
	}
	return sum;
}

/* Like block_sums, for block b of a panel. */
INLINE void panel_sums(uint32_t dtype, const __m256i *w, const char *x, uint32_t k, size_t b,
		       __m256i out[2])
{
	const char *q = x + 32 * b, *h = x + KERN_Q8_H(k);
	const int shift = (int)shift_of(dtype);

	if (!kern_has_halves(dtype) && !kern_has_two_d(dtype)) {
		out[0] = out[1] = panel_part(dtype, w, q, 0, 8);
		if (shift)
			out[0] = _mm256_add_epi32(
				out[0], _mm256_slli_epi32(all(x + KERN_Q8_N(k), b), shift));
		return;
	}
	out[0] = panel_part(dtype, w, q, 0, 4);
	out[1] = panel_part(dtype, w, q, 4, 8);
	if (shift) {
		out[0] = _mm256_add_epi32(out[0], _mm256_slli_epi32(all(h, 2 * b), shift));
		out[1] = _mm256_add_epi32(out[1], _mm256_slli_epi32(all(h, 2 * b + 1), shift));
	}
	if (kern_has_halves(dtype))
		out[0] = _mm256_add_epi32(_mm256_mullo_epi32(out[0], w[panel_sc(dtype)]),
					  _mm256_mullo_epi32(out[1], w[panel_sc(dtype) + 1]));
}

/* y[i][at .. at+n) of a panel and n_col rows of x.  n_col is 1..TILE and constant. */
INLINE void pass(uint32_t dtype, const char *panel, const struct kern_product *p, uint32_t c,
		 uint32_t n_col, uint32_t at, uint32_t n)
{
	const void *const *x = p->x + c;
	__m256 sum[TILE];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (size_t b = 0; b < p->k / 32; b++, panel += panel_block(dtype)) {
		const __m256i *w = (const void *)panel;
		__m256 d = _mm256_castsi256_ps(w[8]), m = d;

		if (kern_has_m(dtype))
			m = _mm256_castsi256_ps(w[9]);
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++) {
			__m256i s[2];

			panel_sums(dtype, w, x[i], p->k, b, s);
			sum[i] = _mm256_add_ps(sum[i], terms(dtype, d, m, w + panel_mn(dtype), s,
							     x[i], p->k, b));
		}
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		store(p->y[c + i] + at, sum[i], n);
}

INLINE size_t panel_bytes(uint32_t dtype, uint32_t k)
{
	return k / 32 * panel_block(dtype);
}

INLINE uint32_t n_panels(uint32_t dtype, uint32_t k)
{
	size_t n = STRIP_BYTES / (panel_bytes(dtype, k) + 1);

	return n < 1 ? 1 : n > 32 ? 32 : (uint32_t)n;
}

INLINE void many(uint32_t dtype, const struct kern_product *p)
{
	const uint32_t strip = 8 * n_panels(dtype, p->k);

	for (uint32_t r = 0; r < p->n_row; r += strip) {
		uint32_t n_row = p->n_row - r < strip ? p->n_row - r : strip, c = 0;
		const size_t bytes = panel_bytes(dtype, p->k);
		char *panels = p->scratch;

		for (uint32_t i = 0; i < n_row; i += 8) {
			const uint8_t *w[8];

			kern_row_addresses(p, r + i, 8, w);
			pack8(dtype, p->points, w, p->k, panels + i / 8 * bytes);
		}
		for (; c + TILE <= p->n_col; c += TILE)
			for (uint32_t i = 0; i < n_row; i += 8)
				pass(dtype, panels + i / 8 * bytes, p, c, TILE, r + i, n_row - i);
		for (; c < p->n_col; c++)
			for (uint32_t i = 0; i < n_row; i += 8)
				pass(dtype, panels + i / 8 * bytes, p, c, 1, r + i, n_row - i);
	}
}

/* Defines the kernel of a type and its entry in a list. */
#define KERN_AVX2(type)                                                                            \
	static size_t scratch_##type(uint32_t k)                                                   \
	{                                                                                          \
		return (n_panels(LMD_DTYPE_##type, k) * panel_bytes(LMD_DTYPE_##type, k) +         \
			KERN_ALIGN - 1) /                                                          \
		       KERN_ALIGN * KERN_ALIGN;                                                    \
	}                                                                                          \
	static void run_##type(const struct kern_linear *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col > FEW)                                                                \
			many(LMD_DTYPE_##type, p);                                                 \
		else if (p->n_col)                                                                 \
			few(LMD_DTYPE_##type, p);                                                  \
	}
#define KERN_AVX2_ENTRY(type)                                                                      \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_Q8, .isa = "avx2", .exact = true,       \
		.flags = LMD_CPU_AVX2, .scratch_bytes = scratch_##type, .run = run_##type          \
	}

#endif /* LLAMAD_CPU_KERN_LINEAR_Q8_AVX2_H */
