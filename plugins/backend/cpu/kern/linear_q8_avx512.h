/* SPDX-License-Identifier: MIT
 *
 * linear_q8_avx512.h - exact products with AVX-512 and VNNI for any type: kern_product_512.
 *
 * Few rows of x: rows_avx512.h.  For more rows of x, weight rows are rearranged into panels
 * (panel_avx512.h), which pays off from about five rows of x on. */
#ifndef LLAMAD_CPU_KERN_LINEAR_Q8_AVX512_H
#define LLAMAD_CPU_KERN_LINEAR_Q8_AVX512_H

#include "grid_rows_avx512.h"
#include "panel_avx512.h"
#include "rows_avx512.h"

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
		__m512i s0 = _mm512_permutex2var_epi64(c->sc[0], low, c->sc[1]);
		__m512i s1 = _mm512_permutex2var_epi64(c->sc[0], high, c->sc[1]);

		if (panel_small_sums(dtype)) {
			store_halves(to + panel_sc(dtype), block, panel_pairs(s0, s1));
		} else {
			store_halves(to + panel_sc(dtype), block, s0);
			store_halves(to + panel_sc(dtype) + 64, block, s1);
		}
	}
	if (kern_has_minima(dtype))
		store_halves(to + panel_mn(dtype), block,
			     _mm512_sub_epi16(_mm512_setzero_si512(),
					      panel_pairs(c->mn[0], c->mn[1])));
}

/* Blocks [b, end) of eight rows to a panel; b is the first block of a larger block. */
INLINE void pack8(uint32_t dtype, const struct kern_iq_tables *points, const uint8_t *const w[8],
		  size_t b, size_t end, char *to)
{
	const int pairs = (int)kern_n_sub_blocks(dtype) / 2;
	const size_t bytes = kern_block_bytes(dtype), block = panel_block(dtype);
	const __m512 row_d = row_factors(dtype, w);
	size_t at = kern_row_head(dtype) + b / kern_n_sub_blocks(dtype) * bytes;
	struct codes c;

	for (; kern_has_iq_tables(dtype) && b < end; b += 8, at += bytes) {
		struct head h;

		head_points(dtype, points, w, at, &h);
#pragma GCC unroll 1 /* long enough without unrolling */
		for (int p = 0; p < 4; p++, to += 2 * block) {
			codes_points(&h, p, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (; kern_is_k(dtype) && !kern_has_iq_tables(dtype) && b < end;
	     b += kern_n_sub_blocks(dtype), at += bytes) {
		struct head h;

		h.d = row_d;
		head_large(dtype, w, at, &h);
#pragma GCC unroll 4
		for (int p = 0; p < pairs; p++, to += 2 * block) {
			codes_large(dtype, &h, w, at, p, &c);
			store_codes(dtype, &c, to);
		}
	}
	for (; !kern_is_k(dtype) && b + 2 <= end; b += 2, at += 2 * bytes, to += 2 * block) {
		codes_32(dtype, w, at, true, &c);
		c.d = kern_row_head(dtype) ? row_d : c.d;
		store_codes(dtype, &c, to);
	}
	if (!kern_is_k(dtype) && b < end) {
		codes_32(dtype, w, at, false, &c);
		c.d = kern_row_head(dtype) ? row_d : c.d;
		store_codes(dtype, &c, to); /* the panel has room for one more block */
	}
}

INLINE void row_panels(uint32_t dtype, const struct kern_product *p, uint32_t r, size_t b, size_t n,
		       struct panels *to)
{
#pragma GCC unroll 1
	for (uint32_t i = 0; i < PANEL_ROWS; i += 8) {
		const uint8_t *w[8];

		kern_row_addresses(p, r + i, 8, w);
		pack8(dtype, p->points, w, b, b + n,
		      to->mem + i / 16 * panel_bytes(dtype) + 4 * (i % 16));
	}
}

INLINE void kern_product_512(uint32_t dtype, const struct panel_type *type,
			     const struct kern_product *p)
{
	if (p->n_col <= FEW && kern_has_iq_tables(dtype))
		grid_few(dtype, p);
	else if (p->n_col <= FEW)
		few(dtype, p);
	else
		panel_product(type, p);
}

/* Defines the kernel of a type and its entry in a list. */
#define KERN_VNNI(type)                                                                            \
	PANEL_TYPE(type, row_panels)                                                               \
	static size_t scratch_##type(uint32_t k)                                                   \
	{                                                                                          \
		(void)k;                                                                           \
		return 0;                                                                          \
	}                                                                                          \
	static void run_##type(const struct kern_linear *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col)                                                                      \
			kern_product_512(LMD_DTYPE_##type, &panels_##type, p);                     \
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
