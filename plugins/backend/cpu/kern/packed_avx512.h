/* SPDX-License-Identifier: MIT
 *
 * packed_avx512.h - exact products with repacked weights (packed.h) with AVX-512 and VNNI.
 *
 * Each lane belongs to a weight row from the start, so nothing is added across lanes.  Up to eight
 * rows of x are multiplied in one pass over a group; a few more take two passes, for which the
 * group stays in the first-level cache.  From four rows of x on, groups are taken in pairs.  For many
 * rows of x, groups are unpacked to panels. */
#ifndef LLAMAD_CPU_KERN_PACKED_AVX512_H
#define LLAMAD_CPU_KERN_PACKED_AVX512_H

#include "packed_pair_avx512.h"

/* With more rows of x, groups are unpacked to panels. */
INLINE uint32_t packed_most(uint32_t dtype)
{
	return kern_has_halves(dtype) ? 16 : 32;
}

/* Sum of P*q over block b of sixteen rows. */
INLINE __m512i packed_sum(uint32_t dtype, const __m512i q[8], const struct factors *f,
			  const char *x, uint32_t k, size_t b)
{
	const int shift = (int)kern_code_shift(dtype);
	const char *v = x + 32 * b;
	__m512i s[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

	if (kern_has_halves(dtype)) {
		s[0] = _mm512_slli_epi32(all(x + KERN_Q8_H(k), 2 * b), shift);
		s[1] = _mm512_slli_epi32(all(x + KERN_Q8_H(k), 2 * b + 1), shift);
	} else if (shift) {
		s[0] = _mm512_slli_epi32(all(x + KERN_Q8_N(k), b), shift);
	}
#pragma GCC unroll 4
	for (size_t j = 0; j < 4; j++) {
		s[0] = _mm512_dpbusd_epi32(s[0], q[j], all(v, j));
		s[1] = _mm512_dpbusd_epi32(s[1], q[j + 4], all(v, j + 4));
	}
	return kern_has_halves(dtype) ? _mm512_add_epi32(_mm512_mullo_epi32(s[0], f->sc[0]),
							 _mm512_mullo_epi32(s[1], f->sc[1]))
				      : _mm512_add_epi32(s[0], s[1]);
}

/* y[i][at..] of a group and n_col rows of x.  n_col is 1..PASS and constant. */
INLINE void packed_pass(uint32_t dtype, const char *group, uint32_t k, const void *const *x,
			uint32_t n_col, float *const *y, uint32_t at, __mmask16 have,
			const char *later)
{
	const size_t nb = k / 32;
	const char *scales = group + nb * kern_packed_codes(dtype);
	__m512 sum[PASS];

#pragma GCC unroll 8
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm512_setzero_ps();
	for (size_t b = 0; b < nb; b++, group += kern_packed_codes(dtype)) {
		__m512i q[8];
		struct factors f;

		kern_packed_prefetch(dtype, later, b, KERN_GROUP);
		packed_codes(dtype, group, q);
		packed_factors(dtype, scales + kern_packed_scale(dtype, b), b, &f);
#pragma GCC unroll 8
		for (uint32_t i = 0; i < n_col; i++) {
			__m512i s = packed_sum(dtype, q, &f, x[i], k, b);

			sum[i] = _mm512_add_ps(sum[i], packed_term(dtype, &f, s, x[i], k, b));
		}
	}
#pragma GCC unroll 8
	for (uint32_t i = 0; i < n_col; i++)
		_mm512_mask_storeu_ps(y[i] + at, have, sum[i]);
}

/* All of the n_col rows of x from c on times a group. */
INLINE void packed_group(uint32_t dtype, const struct kern_product *p, uint32_t r, uint32_t c,
			 uint32_t n_col, const char *later)
{
	const char *group = (const char *)p->w + r / 16 * p->w_stride;
	const uint32_t n_pass = (n_col + PASS - 1) / PASS;
	const __mmask16 have =
		(__mmask16)(p->n_row - r < 16 ? (1u << (p->n_row - r)) - 1 : 0xffff);

	for (uint32_t i = 0; i < n_pass; i++) {
		uint32_t n = n_col / n_pass + (i < n_col % n_pass);
		const void *const *x = p->x + c;
		float *const *y = p->y + c;

#define PACKED_CASE(n)                                                                             \
	case n:                                                                                    \
		packed_pass(dtype, group, p->k, x, n, y, r, have, later);                          \
		break;
		switch (n) {
			PACKED_CASE(1)
			PACKED_CASE(2)
			PACKED_CASE(3)
			PACKED_CASE(4)
			PACKED_CASE(5)
			PACKED_CASE(6)
			PACKED_CASE(7)
			PACKED_CASE(8)
		}
#undef PACKED_CASE
		c += n;
		later = NULL; /* the group is in the cache now */
	}
}

/* Blocks [b, b + n) of the two groups of rows [r, r + 32). */
INLINE void group_panels(uint32_t dtype, const struct kern_product *p, uint32_t r, size_t b,
			 size_t n, struct panels *to)
{
	const size_t codes = kern_packed_codes(dtype), nb = p->k / 32;

#pragma GCC unroll 1
	for (uint32_t j = 0; j < 2; j++) {
		const uint32_t g = r + 16 * j < p->n_row ? r / 16 + j : r / 16;
		const char *group = (const char *)p->w + g * p->w_stride;
		char *out = to->mem + j * panel_bytes(dtype);

		for (size_t i = b; i < b + n; i++, out += panel_block(dtype)) {
			const char *scales = group + nb * codes + kern_packed_scale(dtype, i);
			struct factors f;
			__m512i q[8];

			packed_codes(dtype, group + i * codes, q);
			packed_factors(dtype, scales, i, &f);
#pragma GCC unroll 8
			for (size_t v = 0; v < 8; v++)
				_mm512_store_si512(out + 64 * v, q[v]);
			_mm512_store_ps(out + 512, f.d);
			if (kern_has_m(dtype))
				_mm512_store_ps(out + 576, f.m);
			for (size_t h = 0; kern_has_halves(dtype) && h < 2; h++)
				_mm512_store_si512(out + panel_sc(dtype) + 64 * h, f.sc[h]);
		}
	}
}

INLINE void packed_product(uint32_t dtype, const struct panel_type *type,
			   const struct kern_product *p)
{
	if (p->n_col > packed_most(dtype)) {
		panel_product(type, p);
		return;
	}
	for (uint32_t r = 0; r < p->n_row;) {
		const bool pair = p->n_col >= PAIR_LEAST && p->n_row - r > 16;

		if (pair)
			packed_pair(dtype, p, r);
		else
			packed_group(dtype, p, r, 0, p->n_col, kern_packed_later(p, r, 1));
		r += pair ? 32 : 16;
	}
}

/* Defines the kernel of a type and its entry in a list. */
#define KERN_PACKED_VNNI(type)                                                                     \
	PANEL_TYPE(type, group_panels)                                                             \
	static void run_##type(const struct kern_packed *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col)                                                                      \
			packed_product(LMD_DTYPE_##type, &panels_##type, p);                       \
	}
#define KERN_PACKED_VNNI_ENTRY(type)                                                               \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .isa = "vnni", .most = UINT32_MAX,                      \
		.flags = LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI, .run = run_##type    \
	}

#endif /* LLAMAD_CPU_KERN_PACKED_AVX512_H */
