/* SPDX-License-Identifier: MIT
 *
 * packed_avx2.h - exact products with repacked weights (packed.h) with AVX2: packed_avx512.h with
 * half the width, so that a group is multiplied as two panels of eight rows. */
#ifndef LLAMAD_CPU_KERN_PACKED_AVX2_H
#define LLAMAD_CPU_KERN_PACKED_AVX2_H

#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS KERN_NO_TYPES
#include "linear_q8_avx2.h"
#include "packed.h"

INLINE __m256i vector(const char *p)
{
	return _mm256_loadu_si256((const void *)p);
}

/* Replaces indices by the numbers of the codebook plus 2^shift. */
INLINE __m256i numbers(uint32_t dtype, __m256i v)
{
	return kern_packed_book(dtype) ? look_up_16(dtype, kern_packed_book(dtype), v) : v;
}

/* Codes of a block as bytes: vector j has values 4j to 4j+3 of eight rows.  p: the block, plus 32
 * bytes for the upper rows. */
INLINE void packed_codes(uint32_t dtype, const char *p, __m256i q[8])
{
	const __m256i four = _mm256_set1_epi8(15);
	const uint32_t bits = kern_packed_bits(dtype);

#pragma GCC unroll 8
	for (int j = 0; bits < 4 && j < 8; j++) {
		const __m256i two = _mm256_set1_epi8(3), third = _mm256_set1_epi8(4);
		__m256i v = vector(p + 64 * (j / 4));

		q[j] = _mm256_and_si256(_mm256_srli_epi16(v, 2 * (j % 4)), two);
		if (bits < 3)
			continue;
		v = vector(p + 128);
		v = j < 2 ? _mm256_slli_epi16(v, 2 - j) : _mm256_srli_epi16(v, j - 2);
		q[j] = numbers(dtype, _mm256_or_si256(q[j], _mm256_and_si256(v, third)));
	}
#pragma GCC unroll 4
	for (int j = 0; bits >= 4 && j < 4; j++) {
		__m256i v = vector(p + 64 * j);

		if (bits == 8) { /* with signs again */
			q[j] = _mm256_xor_si256(v, _mm256_set1_epi8(-128));
			q[j + 4] = _mm256_xor_si256(vector(p + 256 + 64 * j),
						    _mm256_set1_epi8(-128));
			continue;
		}
		q[j] = numbers(dtype, _mm256_and_si256(v, four));
		q[j + 4] = numbers(dtype, _mm256_and_si256(_mm256_srli_epi16(v, 4), four));
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

INLINE __m128i eight(const char *p)
{
	return _mm_loadl_epi64((const void *)p);
}

/* The bytes low and high of eight rows side by side, as 16-bit numbers. */
INLINE __m256i pairs(__m128i low, __m128i high)
{
	return _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(low, high));
}

/* The factors of the halves, as a panel has them. */
INLINE void packed_halves(__m128i low, __m128i high, __m256i to[3])
{
	to[0] = pairs(low, low);
	to[1] = pairs(high, high);
	to[2] = pairs(low, high);
}

/* D and M of block b of eight rows, the first of which is row r of the group, and its other factors
 * where a panel has them.  p: kern_packed_scale() of the block. */
INLINE void packed_factors(uint32_t dtype, const char *p, size_t b, size_t r, __m256i *to)
{
	const char *one = p + 32 + 16 * (b % 8) + r, *two = p + 32 + 32 * (b % 8) + r;
	const __m128i four = _mm_set1_epi8(15);
	__m256 d = _mm256_setzero_ps(), m = d;
	__m128i low, high;

	switch (kern_packed_scales(dtype)) {
	case KERN_SCALES_F16:
		d = eight_halves(p + 2 * r);
		break;
	case KERN_SCALES_DM:
		d = eight_halves(p + 2 * r);
		m = eight_halves(p + 32 + 2 * r);
		break;
	case KERN_SCALES_E8:
		d = eight_powers(eight_bytes(p + r));
		break;
	case KERN_SCALES_TWO_E8:
		d = half_e4m3(eight_bytes(p + r), 0);
		m = half_e4m3(eight_bytes(p + 16 + r), 0);
		break;
	case KERN_SCALES_K:
		d = _mm256_mul_ps(eight_halves(p + 2 * r), _mm256_cvtepi32_ps(eight_signed(one)));
		break;
	case KERN_SCALES_K_DM:
		d = _mm256_mul_ps(eight_halves(p + 2 * r),
				  _mm256_cvtepi32_ps(eight_bytes(two + 32)));
		m = _mm256_mul_ps(eight_halves(p + 32 + 2 * r),
				  _mm256_cvtepi32_ps(eight_bytes(two + 48)));
		break;
	case KERN_SCALES_HALVES:
		d = eight_halves(p + 2 * r);
		if (kern_has_iq_tables(dtype))
			d = _mm256_mul_ps(d, _mm256_set1_ps(kern_point_unit(dtype)));
		packed_halves(eight(two), eight(two + 16), to + panel_sc(dtype));
		break;
	case KERN_SCALES_HALVES_DM:
		d = eight_halves(p + 2 * r);
		m = eight_halves(p + 32 + 2 * r);
		low = eight(two + 32);
		high = eight(two + 48);
		packed_halves(_mm_and_si128(low, four), _mm_and_si128(high, four),
			      to + panel_sc(dtype));
		to[panel_mn(dtype)] = pairs(_mm_and_si128(_mm_srli_epi16(low, 4), four),
					    _mm_and_si128(_mm_srli_epi16(high, 4), four));
		break;
	}
	to[8] = _mm256_castps_si256(d);
	if (kern_has_m(dtype))
		to[9] = _mm256_castps_si256(m);
}

/* A group whose first row is row `at`, times rows [c, c + n_col) of x.  n_col is 1..TILE and constant. */
INLINE void packed_pass(uint32_t dtype, const char *group, const struct kern_product *p, uint32_t c,
			uint32_t n_col, uint32_t at, const char *later)
{
	const size_t nb = p->k / 32;
	const char *scales = group + nb * kern_packed_codes(dtype);
	const char *x[TILE];
	__m256 sum[TILE][PAIR];

#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++) {
		x[i] = p->x[c + i];
		sum[i][0] = sum[i][1] = _mm256_setzero_ps();
	}
	for (size_t b = 0; b < nb; b++, group += kern_packed_codes(dtype)) {
		const char *s = scales + kern_packed_scale(dtype, b);
		__m256i panel[PAIR][14]; /* at most panel_choices() */
		const __m256i *const w[PAIR] = {panel[0], panel[1]};

		kern_packed_prefetch(dtype, later, b, 16);
#pragma GCC unroll 2
		for (size_t j = 0; j < PAIR; j++) {
			packed_codes(dtype, group + 32 * j, panel[j]);
			packed_factors(dtype, s, b, 8 * j, panel[j]);
		}
		if (n_col == TILE) /* codes are loaded when they are used, not kept in registers */
			__asm__("" : "+m"(panel));
		tile_add(dtype, w, x, NULL, (int)n_col, p->k, b, sum);
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n_col; i++)
		tile_store(p, c + i, at, sum[i]);
}

INLINE void packed_product(uint32_t dtype, const struct kern_product *p)
{
	for (uint32_t r = 0; r < p->n_row; r += KERN_GROUP) {
		const char *group = (const char *)p->w + r / KERN_GROUP * p->w_stride;
		const char *later = kern_packed_later(p, r, 1);

		for (uint32_t c = 0, n; c < p->n_col; c += n) {
			n = (p->n_col - c + TILE - 1) / TILE; /* passes of about equal numbers */
			n = (p->n_col - c + n - 1) / n;
			if (n == 1)
				packed_pass(dtype, group, p, c, 1, r, later);
			else if (n == 2)
				packed_pass(dtype, group, p, c, 2, r, later);
			else if (n == 3)
				packed_pass(dtype, group, p, c, 3, r, later);
			else
				packed_pass(dtype, group, p, c, TILE, r, later);
			later = NULL; /* the group is in the cache now */
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
