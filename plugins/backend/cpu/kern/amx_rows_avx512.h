/* SPDX-License-Identifier: MIT
 *
 * amx_rows_avx512.h - weight rows of any type in the file as panels for tiles (amx_panel.h): unpacked as for
 * the products with VNNI (panel_avx512.h), then changed from codes to integers. */
#ifndef LLAMAD_CPU_KERN_AMX_ROWS_AVX512_H
#define LLAMAD_CPU_KERN_AMX_ROWS_AVX512_H

#include "amx_int8.h"
#include "linear_q8_avx512.h"
#include "variants.h"

/* The factors of half h of a block in a panel of panel_avx512.h, each twice. */
INLINE amx_shorts amx_panel_factors(uint32_t dtype, const char *panel, int h)
{
	const char *sc = panel + panel_sc(dtype);
	__m512i v;

	if (!panel_small_sums(dtype))
		return (amx_shorts)panel_pairs(_mm512_load_si512(sc + 64 * h),
					       _mm512_load_si512(sc + 64 * h));
	v = _mm512_load_si512(sc);
	return (amx_shorts)(h ? panel_pairs(_mm512_srli_epi32(v, 16), _mm512_srli_epi32(v, 16))
			      : panel_pairs(v, v));
}

/* A block of a panel of panel_avx512.h. */
INLINE void amx_of_panel(uint32_t dtype, const char *from, char *to)
{
	const enum amx_kind kind = amx_kind_of(dtype);
	const __m512i shift =
		_mm512_set1_epi8((char)(kern_code_shift(dtype) ? 1 << kern_code_shift(dtype) : 0));
	const __m512i none = _mm512_setzero_si512();

#pragma GCC unroll 8
	for (int j = 0; j < 8; j++) {
		const __m512i v = _mm512_sub_epi8(_mm512_load_si512(from + 64 * j), shift);
		char *at = to + 64 * j;

		if (kind == AMX_WIDE || kern_has_minima(dtype)) {
			amx_put_wide((amx_bytes)v, amx_panel_factors(dtype, from, j / 4), (size_t)j,
				     to);
		} else if (kern_has_two_d(dtype)) {
			_mm512_store_si512(at, j < 4 ? v : none);
			_mm512_store_si512(at + 512, j < 4 ? none : v);
		} else {
			_mm512_store_si512(at, v);
		}
		if (kern_has_minima(
			    dtype)) { /* P fits plane 0; the minima have their signs changed */
			__m512i mn =
				_mm512_sub_epi16(none, _mm512_load_si512(from + panel_mn(dtype)));

			mn = _mm512_and_si512(j < 4 ? mn : _mm512_srli_epi32(mn, 16),
					      _mm512_set1_epi32(255));
			_mm512_store_si512(at + 512,
					   _mm512_mullo_epi32(mn, _mm512_set1_epi32(0x1010101)));
		}
	}
	_mm512_store_si512(to + amx_d(kind), _mm512_load_si512(from + 512));
	if (kind == AMX_MIN || kind == AMX_TWO)
		_mm512_store_si512(to + amx_m(kind), _mm512_load_si512(from + 576));
}

INLINE void amx_unpack_rows(uint32_t dtype, const struct kern_product *p, uint32_t r, size_t b,
			    size_t n, char *panel)
{
	_Alignas(KERN_ALIGN) char codes[PANEL_MOST_BYTES];

#pragma GCC unroll 1
	for (uint32_t i = 0; i < AMX_ROWS; i += 8) {
		const uint8_t *w[8];

		kern_row_addresses(p, r + i, 8, w);
		pack8(dtype, p->points, w, b, b + n, codes + 4 * i);
	}
	for (size_t i = 0; i < n; i++, panel += amx_block(amx_kind_of(dtype)))
		amx_of_panel(dtype, codes + i * panel_block(dtype), panel);
}

static size_t amx_scratch_none(uint32_t k)
{
	(void)k;
	return 0;
}

/* Defines the kernel of a type, with the one for few rows of x, and its entry in a list. */
#define AMX_LINEAR(type, few)                                                                      \
	static void amx_rows_##type(const struct kern_product *p, uint32_t r, size_t b, size_t n,  \
				    char *panel)                                                   \
	{                                                                                          \
		amx_unpack_rows(LMD_DTYPE_##type, p, r, b, n, panel);                              \
	}                                                                                          \
	static void run_##type(const struct kern_linear *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col < AMX_LEAST)                                                          \
			(few)->run(few, p);                                                        \
		else                                                                               \
			amx_product(amx_kind_of(LMD_DTYPE_##type), p, amx_rows_##type);            \
	}
#define AMX_LINEAR_ENTRY(type)                                                                     \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .act = KERN_ACT_Q8, .isa = "amx", .exact = true,        \
		.flags = AMX_NEEDS | LMD_CPU_AMX_INT8, .scratch_bytes = amx_scratch_none,          \
		.run = run_##type                                                                  \
	}

#endif /* LLAMAD_CPU_KERN_AMX_ROWS_AVX512_H */
