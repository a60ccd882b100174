/* SPDX-License-Identifier: MIT
 *
 * packed_avx2.h - exact products with repacked weights (packed.h) with AVX2: packed_avx512.h with
 * half the width, so that a group is read as two halves of eight rows. */
#ifndef LLAMAD_CPU_KERN_PACKED_AVX2_H
#define LLAMAD_CPU_KERN_PACKED_AVX2_H

#include "linear_q8_avx2.h"
#include "packed.h"

#define PASS       4u /* largest number of rows of x in a pass */
#define STRIP_ROWS 64u /* rows of the weight and of x that stay in the second-level cache */
#define STRIP_COLS 32u

INLINE __m256i vector(const char *p)
{
	return _mm256_loadu_si256((const void *)p);
}

/* Codes of a block as bytes: vector j has values 4j to 4j+3 of eight rows.  p: the block, plus 32
 * bytes for the upper rows. */
INLINE void packed_codes(uint32_t dtype, const char *p, __m256i q[8])
{
	const __m256i four = _mm256_set1_epi8(15);
	const uint32_t bits = kern_packed_bits(dtype);

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		__m256i v = vector(p + 64 * j);

		if (bits == 8) { /* with signs again */
			q[j] = _mm256_xor_si256(v, _mm256_set1_epi8(-128));
			q[j + 4] = _mm256_xor_si256(vector(p + 256 + 64 * j),
						    _mm256_set1_epi8(-128));
			continue;
		}
		q[j] = _mm256_and_si256(v, four);
		q[j + 4] = _mm256_and_si256(_mm256_srli_epi16(v, 4), four);
		if (kern_has_iq4_codebook(dtype) || dtype == LMD_DTYPE_MXFP4) {
			q[j] = look_up(dtype, q[j]);
			q[j + 4] = look_up(dtype, q[j + 4]);
		}
	}
#pragma GCC unroll 8
	for (int j = 0; j < 8; j++) {
		const __m256i fifth = _mm256_set1_epi8(0x10), top = _mm256_set1_epi8(0x30);
		__m256i v;

		if (bits == 5) {
			v = vector(p + 256);
			v = j < 4 ? _mm256_slli_epi16(v, 4 - j) : _mm256_srli_epi16(v, j - 4);
			q[j] = _mm256_or_si256(q[j], _mm256_and_si256(v, fifth));
		}
		if (bits == 6) {
			v = vector(p + 256 + 64 * (j / 4));
			v = j % 4 < 2 ? _mm256_slli_epi16(v, 4 - 2 * (j % 4))
				      : _mm256_srli_epi16(v, 2 * (j % 4) - 4);
			q[j] = _mm256_or_si256(q[j], _mm256_and_si256(v, top));
		}
	}
}

INLINE __m256 eight_halves(const char *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
}

INLINE __m256i eight_bytes(const char *p)
{
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
}

INLINE __m256i eight_signed(const char *p)
{
	return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p));
}

/* 2^(e - 128), which is denormal for e = 0 and 1. */
INLINE __m256 eight_powers(__m256i e)
{
	const __m256i one = _mm256_set1_epi32(1);
	__m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
	__m256i denormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e);

	return _mm256_castsi256_ps(
		_mm256_blendv_epi8(denormal, normal, _mm256_cmpgt_epi32(e, one)));
}

/* Factors of block b of eight rows, the first of which is row r of the group: D, M, and in sc[0]
 * and sc[1] those of the halves.  p: kern_packed_scale() of the block. */
INLINE void packed_factors(uint32_t dtype, const char *p, size_t b, size_t r, __m256 *d, __m256 *m,
			   __m256i sc[2])
{
	const char *one = p + 32 + 16 * (b % 8) + r, *two = p + 32 + 32 * (b % 8) + r;

	*d = *m = _mm256_setzero_ps();
	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_F16:
		*d = eight_halves(p + 2 * r);
		return;
	case KERN_SCALES_DM:
		*d = eight_halves(p + 2 * r);
		*m = eight_halves(p + 32 + 2 * r);
		return;
	case KERN_SCALES_E8:
		*d = eight_powers(eight_bytes(p + r));
		return;
	case KERN_SCALES_K:
		*d = _mm256_mul_ps(eight_halves(p + 2 * r), _mm256_cvtepi32_ps(eight_signed(one)));
		return;
	case KERN_SCALES_K_DM:
		*d = _mm256_mul_ps(eight_halves(p + 2 * r),
				   _mm256_cvtepi32_ps(eight_bytes(two + 32)));
		*m = _mm256_mul_ps(eight_halves(p + 32 + 2 * r),
				   _mm256_cvtepi32_ps(eight_bytes(two + 48)));
		return;
	case KERN_SCALES_HALVES:
		*d = eight_halves(p + 2 * r);
		sc[0] = eight_signed(two);
		sc[1] = eight_signed(two + 16);
		return;
	}
}

/* y[i][at .. at+n) of eight rows from row r of a group on, and n_col rows of x.  n_col is 1..PASS and
 * constant. */
INLINE void packed_pass(uint32_t dtype, const char *group, size_t r, const struct kern_product *p,
			uint32_t c, uint32_t n_col, uint32_t at, uint32_t n, const char *later)
{
	const size_t nb = p->k / 32;
	const char *scales = group + nb * kern_packed_codes(dtype);
	__m256 sum[PASS];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		sum[i] = _mm256_setzero_ps();
	for (size_t b = 0; b < nb; b++, group += kern_packed_codes(dtype)) {
		__m256i w[11]; /* codes, and where panel_sums() looks for them, the factors */
		__m256 d, m;

		kern_packed_prefetch(dtype, later, b, 8);
		packed_codes(dtype, group + 4 * r, w);
		packed_factors(dtype, scales + kern_packed_scale(dtype, b), b, r, &d, &m,
			       w + panel_sc(dtype));
#pragma GCC unroll 4
		for (uint32_t i = 0; i < n_col; i++) {
			__m256i s[2];

			panel_sums(dtype, w, p->x[c + i], p->k, b, s);
			sum[i] = _mm256_add_ps(
				sum[i], terms(dtype, d, m, NULL, s, p->x[c + i], p->k, b));
		}
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		store(p->y[c + i] + at, sum[i], n);
}

/* The n_col rows of x from c on times up to eight rows of a group. */
INLINE void packed_half(uint32_t dtype, const struct kern_product *p, uint32_t at, uint32_t c,
			uint32_t n_col, const char *later)
{
	const char *group = (const char *)p->w + at / 16 * p->w_stride;
	const uint32_t n_pass = (n_col + PASS - 1) / PASS, n = p->n_row - at;

	for (uint32_t i = 0; i < n_pass; i++) {
		uint32_t cols = n_col / n_pass + (i < n_col % n_pass);

		if (cols == 1)
			packed_pass(dtype, group, at % 16, p, c, 1, at, n, later);
		else if (cols == 2)
			packed_pass(dtype, group, at % 16, p, c, 2, at, n, later);
		else if (cols == 3)
			packed_pass(dtype, group, at % 16, p, c, 3, at, n, later);
		else
			packed_pass(dtype, group, at % 16, p, c, PASS, at, n, later);
		c += cols;
		later = NULL; /* the group is in the cache now */
	}
}

INLINE void packed_product(uint32_t dtype, const struct kern_product *p)
{
	for (uint32_t r0 = 0; r0 < p->n_row; r0 += STRIP_ROWS) {
		uint32_t end = p->n_row - r0 < STRIP_ROWS ? p->n_row : r0 + STRIP_ROWS;

		for (uint32_t c = 0; c < p->n_col; c += STRIP_COLS) {
			uint32_t n_col = p->n_col - c < STRIP_COLS ? p->n_col - c : STRIP_COLS;

			for (uint32_t r = r0; r < end; r += 8)
				packed_half(dtype, p, r, c, n_col,
					    c ? NULL
					      : kern_packed_later(p, r, 1) + r % 16 * p->w_stride / 16);
		}
	}
}

/* Defines the kernel of a type and its entry in a list. */
#define KERN_PACKED_AVX2(type)                                                                     \
	static void run_##type(const struct kern_packed *self, const struct kern_product *p)       \
	{                                                                                          \
		(void)self;                                                                        \
		if (p->n_col)                                                                      \
			packed_product(LMD_DTYPE_##type, p);                                     \
	}
#define KERN_PACKED_AVX2_ENTRY(type)                                                               \
	{                                                                                          \
		.dtype = LMD_DTYPE_##type, .isa = "avx2", .most = 15, .flags = LMD_CPU_AVX2,       \
		.run = run_##type                                                                  \
	}

#endif /* LLAMAD_CPU_KERN_PACKED_AVX2_H */
