/* SPDX-License-Identifier: MIT
 *
 * tile_avx2.h - integer sums of a block of 32 values of panels of eight weight rows times several rows
 * of x, with AVX2.
 *
 * A panel has for each block: eight vectors of codes (vector j has the values from 4j on of eight
 * rows), D, then, if the type has them, M; the factors of the low and of the high half, each twice as
 * 16-bit numbers, and of both side by side; and the minima of both halves side by side.  Products of
 * 16-bit pairs then add up what has the same factor.
 *
 * A vector of x is loaded once for all panels, and a vector of codes once for all rows of x.
 *
 * Signed codes: bytes are multiplied with one unsigned factor, which is the code without its sign, and x takes
 * the sign.  An instruction that does so competes with the multiplications.  A shuffle does not: panels have
 * four more vectors, which say for each code which of four values of x it is multiplied with, or which of them
 * with the sign turned; rows of x are prepared with both. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_TILE_AVX2_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_TILE_AVX2_H

#include <string.h>

#include "rows_avx2.h"

#define TILE 4 /* largest number of rows of x in a tile */
#define PAIR 2 /* number of panels in it */

/* ---- layout ---- */

INLINE size_t panel_sc(uint32_t dtype)
{
	return kern_has_m(dtype) ? 10 : 9;
}

INLINE size_t panel_mn(uint32_t dtype)
{
	return panel_sc(dtype) + (kern_has_halves(dtype) ? 3 : 0);
}

/* The choices of signed codes. */
INLINE size_t panel_choices(uint32_t dtype)
{
	return panel_mn(dtype) + (kern_has_minima(dtype) ? 1 : 0);
}

/* Number of vectors of a block. */
INLINE size_t panel_vectors(uint32_t dtype)
{
	return panel_choices(dtype) + (is_signed(dtype) ? 4 : 0);
}

/* What a signed code of a panel is multiplied with: value 0 to 3, or these with the sign turned, 4 to 7. */
INLINE __m256i choice_of(__m256i codes)
{
	const __m256i minus = _mm256_cmpgt_epi8(_mm256_setzero_si256(), codes);

	return _mm256_or_si256(and8(minus, 4), _mm256_set1_epi32(0x03020100));
}

/* Those of two vectors of codes, in the low and the high nibbles. */
INLINE __m256i choices_of(__m256i codes, __m256i next)
{
	return _mm256_or_si256(choice_of(codes), _mm256_slli_epi16(choice_of(next), 4));
}

/* The choices of vector j, in the lower three bits; bit 7 is 0, the others are ignored. */
INLINE __m256i choice_at(uint32_t dtype, const __m256i *w, int j)
{
	const __m256i v = w[panel_choices(dtype) + (size_t)j / 2];

	return j % 2 ? _mm256_srli_epi16(v, 4) : v;
}

/* The 32-bit numbers low and high, which fit 16 bits, side by side. */
INLINE __m256i side_by_side(__m256i low, __m256i high)
{
	return _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xaa);
}

/* Writes the factors of the halves of eight rows, given as 32-bit numbers. */
INLINE void panel_factors(__m256i low, __m256i high, __m256i out[3])
{
	out[0] = side_by_side(low, low);
	out[1] = side_by_side(high, high);
	out[2] = side_by_side(low, high);
}

/* ---- sums ---- */

/* Keeps the compiler from regrouping additions, for which it would store all their operands. */
INLINE void in_order(__m256i *v)
{
	__asm__("" : "+x"(*v));
}

/* How many products can be added in 16 bits, if each is at most 2 * 127 * greatest.  There are eight vectors
 * in a block and four in a half. */
INLINE int products_in_16(uint32_t dtype, int greatest)
{
	const int n = INT16_MAX / (2 * 127 * greatest);

	if (n < 2)
		return 1;
	return n < 4 ? 2 : n < 8 || kern_has_halves(dtype) || kern_has_two_d(dtype) ? 4 : 8;
}

/* Sums of 16 bits may begin with what the shift of the codes adds to them, with the sign turned.  Then they
 * may exceed 16 bits on their way, but not in the end, where they are those of the values, which are smaller
 * than codes. */
INLINE int group_with_offsets(uint32_t dtype)
{
	const int shift = 1 << kern_code_shift(dtype), above = kern_greatest_code(dtype) - shift;

	return products_in_16(dtype, shift > above ? shift : above);
}

/* How many products are added in 16 bits. */
INLINE int group(uint32_t dtype, bool offsets)
{
	return is_signed(dtype) ? 1
	       : offsets        ? group_with_offsets(dtype)
				: products_in_16(dtype, kern_greatest_code(dtype));
}

/* Offsets pay if four or eight products are added instead of fewer; two alone take more registers than
 * there are. */
INLINE bool has_offsets(uint32_t dtype)
{
	return shift_of(dtype) && group(dtype, true) >= 4 &&
	       group(dtype, true) > group(dtype, false);
}

/* Writes the offsets of n values of x: those of the group that begins with vector j of block b are at
 * 32b + 4j. */
INLINE void write_offsets(uint32_t dtype, const char *x, size_t n, char *to)
{
	const __m256i by = _mm256_set1_epi8((char)(1 << shift_of(dtype)));
	const int step = group(dtype, true);

	for (size_t at = 0; at < n; at += 32) {
		__m256i v = _mm256_loadu_si256((const void *)(x + at));

		v = _mm256_maddubs_epi16(by, v);
		v = _mm256_add_epi16(v, _mm256_shuffle_epi32(v, 0xb1));
		v = _mm256_add_epi16(v, _mm256_shuffle_epi32(v, 0x4e));
		if (step == 8)
			v = _mm256_add_epi16(v, _mm256_permute2x128_si256(v, v, 1));
		_mm256_storeu_si256((void *)(to + at), _mm256_sub_epi16(_mm256_setzero_si256(), v));
	}
}

/* Types for whose products rows of x are prepared. */
INLINE bool has_prepared_x(uint32_t dtype)
{
	return has_offsets(dtype) || is_signed(dtype);
}

/* Bytes of what is prepared of k values. */
INLINE size_t prepared_bytes(uint32_t dtype, uint32_t k)
{
	return !has_prepared_x(dtype) ? 0 : is_signed(dtype) ? 2 * (size_t)k : k;
}

/* Prepares n values of x, a multiple of 32: offsets, or each four values and the same with the sign turned. */
INLINE void prepare_x(uint32_t dtype, const char *x, size_t n, char *to)
{
	const __m128i zero = _mm_setzero_si128();

	if (has_offsets(dtype)) {
		write_offsets(dtype, x, n, to);
		return;
	}
	for (size_t i = 0; is_signed(dtype) && i < n; i += 16) {
		const __m128i v = _mm_loadu_si128((const void *)(x + i)), m = _mm_sub_epi8(zero, v);

		_mm_store_si128((void *)(to + 2 * i), _mm_unpacklo_epi32(v, m));
		_mm_store_si128((void *)(to + 2 * i + 16), _mm_unpackhi_epi32(v, m));
	}
}

/* Values 4j to 4j+3 of block b with both signs, as prepare_x() wrote them. */
INLINE __m256i with_both_signs(const char *prepared, size_t b, size_t j)
{
	long long v;

	memcpy(&v, prepared + 64 * b + 8 * j, sizeof(v));
	return _mm256_set1_epi64x(v);
}

/* The sums of x over both halves of block b, with the sign turned, side by side. */
INLINE __m256i half_sums(const char *x, uint32_t k, size_t b)
{
	const __m256i order = _mm256_set1_epi32(0x05040100);
	long long v;

	memcpy(&v, x + KERN_Q8_H(k) + 8 * b, sizeof(v));
	return _mm256_shuffle_epi8(_mm256_set1_epi64x(v), order);
}

struct tile_sums {
	__m256i of[TILE][PAIR][2];
};

/* Products of `step` vectors of codes and of x, for one row of x and one panel.  signs: of signed codes, which are
 * one vector: the codes, or their choices if x has both signs. */
INLINE __m256i products_of(uint32_t dtype, const __m256i *codes, const __m256i *q, __m256i signs,
			   bool both, int step)
{
	__m256i sum = _mm256_setzero_si256();

#pragma GCC unroll 2
	for (int i = 0; i < step; i++) {
		__m256i s = both               ? _mm256_shuffle_epi8(q[i], signs)
			    : is_signed(dtype) ? _mm256_sign_epi8(q[i], signs)
					       : q[i];

		s = _mm256_maddubs_epi16(codes[i], s);
		sum = i ? _mm256_add_epi16(sum, s) : s;
	}
	return sum;
}

/* Sums of 16 bits times their factors, or 1, for the half h. */
INLINE __m256i widen_half(uint32_t dtype, const __m256i *w, int h, __m256i sum)
{
	return kern_has_halves(dtype) ? _mm256_madd_epi16(sum, w[panel_sc(dtype) + (size_t)h])
				      : widen(sum);
}

/* Adds up the products, without what a shift or minima take off: at most two in 16 bits.  The sums of 32 bits
 * take half of the registers, so what is added to one of them is complete before the next begins. */
INLINE void tile_products_2(uint32_t dtype, const __m256i *const w[PAIR], const char *const *x,
			    const char *const *both, int n_col, size_t b, struct tile_sums *out)
{
	const bool in_halves = kern_has_halves(dtype) || kern_has_two_d(dtype);
	const int end = in_halves ? 4 : 8, step = group(dtype, false);

#pragma GCC unroll 8
	for (int j = 0; j < 8; j += step) {
		const int h = j / end, to = kern_has_two_d(dtype) ? h : 0;
		__m256i codes[PAIR][2], signs[PAIR];

#pragma GCC unroll 4
		for (int i = 0; i < step * PAIR; i++) {
			const __m256i v = w[i % PAIR][j + i / PAIR];

			codes[i % PAIR][i / PAIR] =
				is_signed(dtype) && !both ? _mm256_abs_epi8(v) : v;
		}
#pragma GCC unroll 2
		for (int p = 0; p < PAIR; p++)
			signs[p] = both ? choice_at(dtype, w[p], j) : w[p][j];
#pragma GCC unroll 4
		for (int c = 0; c < n_col; c++) {
			__m256i q[2];

#pragma GCC unroll 2
			for (int i = 0; i < step; i++)
				q[i] = both ? with_both_signs(both[c], b, (size_t)(j + i))
					    : all(x[c] + 32 * b, (size_t)(j + i));
#pragma GCC unroll 2
			for (int p = 0; p < PAIR; p++) {
				__m256i *o = &out->of[c][p][to];
				__m256i s = products_of(dtype, codes[p], q, signs[p], both, step);

				s = widen_half(dtype, w[p], h, s);
				*o = j % (kern_has_two_d(dtype) ? end : 8) ? _mm256_add_epi32(*o, s)
									   : s;
				in_order(o);
			}
		}
	}
}

/* The same where four or eight products fit 16 bits. */
INLINE void tile_products(uint32_t dtype, const __m256i *const w[PAIR], const char *const *x,
			  const char *const *offsets, int n_col, size_t b, struct tile_sums *out)
{
	const bool in_halves = kern_has_halves(dtype) || kern_has_two_d(dtype);
	const int end = in_halves ? 4 : 8, step = group(dtype, offsets);

#pragma GCC unroll 8
	for (int j = 0; j < 8; j += step) {
		const int h = j / end, to = kern_has_two_d(dtype) ? h : 0;
		__m256i part[TILE][PAIR];

#pragma GCC unroll 4
		for (int c = 0; offsets && c < n_col; c++)
			part[c][0] = part[c][1] = all(offsets[c] + 32 * b, (size_t)j);
#pragma GCC unroll 8
		for (int i = j; i < j + step; i++) {
			__m256i codes[PAIR];

#pragma GCC unroll 2
			for (int p = 0; p < PAIR; p++)
				codes[p] = w[p][i];
#pragma GCC unroll 4
			for (int c = 0; c < n_col; c++) {
				const __m256i q = all(x[c] + 32 * b, (size_t)i);

#pragma GCC unroll 2
				for (int p = 0; p < PAIR; p++) {
					__m256i s = _mm256_maddubs_epi16(codes[p], q);

					part[c][p] = i == j && !offsets
							     ? s
							     : _mm256_add_epi16(part[c][p], s);
					in_order(&part[c][p]);
				}
			}
		}
#pragma GCC unroll 4
		for (int c = 0; c < n_col; c++) {
#pragma GCC unroll 2
			for (int p = 0; p < PAIR; p++) {
				__m256i *o = &out->of[c][p][to];
				__m256i s = widen_half(dtype, w[p], h, part[c][p]);

				*o = j % (kern_has_two_d(dtype) ? end : 8) ? _mm256_add_epi32(*o, s)
									   : s;
				in_order(o);
			}
		}
	}
}

/* For the panels whose blocks are at w and n_col rows of x: out->of[c][p][0] is for each row of
 * panel p the sum of (code - 2^shift)*q over block b of x[c]; with two D: that of the first 16 values,
 * and in [1] that of the others; with minima: in [1] their sum.  n_col is constant; prepared: what prepare_x()
 * made of the rows of x, or NULL; then w may be signed codes alone. */
INLINE void tile_block(uint32_t dtype, const __m256i *const w[PAIR], const char *const *x,
		       const char *const *prepared, int n_col, uint32_t k, size_t b,
		       struct tile_sums *out)
{
	const bool in_halves = kern_has_halves(dtype) || kern_has_two_d(dtype);
	const int shift = prepared ? 0 : (int)shift_of(dtype);

	if (group(dtype, prepared) > 2)
		tile_products(dtype, w, x, prepared, n_col, b, out);
	else
		tile_products_2(dtype, w, x, is_signed(dtype) ? prepared : NULL, n_col, b, out);
#pragma GCC unroll 4
	for (int c = 0; c < n_col; c++) {
		const char *h = x[c] + KERN_Q8_H(k), *n = x[c] + KERN_Q8_N(k);

#pragma GCC unroll 2
		for (int p = 0; p < PAIR; p++) {
			__m256i *o = out->of[c][p];

			if (shift && kern_has_halves(dtype)) {
				__m256i s = _mm256_madd_epi16(w[p][panel_sc(dtype) + 2],
							      half_sums(x[c], k, b));

				o[0] = _mm256_add_epi32(o[0], _mm256_slli_epi32(s, shift));
			} else if (shift && in_halves) {
				o[0] = _mm256_add_epi32(o[0],
							_mm256_slli_epi32(all(h, 2 * b), shift));
				o[1] = _mm256_add_epi32(
					o[1], _mm256_slli_epi32(all(h, 2 * b + 1), shift));
			} else if (shift) {
				o[0] = _mm256_add_epi32(o[0], _mm256_slli_epi32(all(n, b), shift));
			}
			if (kern_has_minima(dtype))
				o[1] = _mm256_sub_epi32(_mm256_setzero_si256(),
							_mm256_madd_epi16(w[p][panel_mn(dtype)],
									  half_sums(x[c], k, b)));
		}
	}
}

/* Adds to sum what block b contributes.  Arguments as those of tile_block(). */
INLINE void tile_add(uint32_t dtype, const __m256i *const w[PAIR], const char *const *x,
		     const char *const *prepared, int n_col, uint32_t k, size_t b,
		     __m256 sum[][PAIR])
{
	struct tile_sums s;

	tile_block(dtype, w, x, prepared, n_col, k, b, &s);
#pragma GCC unroll 4
	for (int c = 0; c < n_col; c++) {
#pragma GCC unroll 2
		for (int p = 0; p < PAIR; p++) {
			__m256 d = _mm256_castsi256_ps(w[p][8]);
			__m256 m = kern_has_m(dtype) ? _mm256_castsi256_ps(w[p][9]) : d;

			sum[c][p] = _mm256_add_ps(sum[c][p],
						  terms(dtype, d, m, s.of[c][p], x[c], k, b));
		}
	}
}

/* Reads the sums that tile_store() has written. */
INLINE void tile_load(const struct kern_product *p, uint32_t c, uint32_t at, __m256 sum[PAIR])
{
	sum[0] = load(p->y[c] + at, p->n_row - at);
	if (p->n_row - at > 8)
		sum[1] = load(p->y[c] + at + 8, p->n_row - at - 8);
}

/* Writes what both panels, whose first row is row `at`, give for row c of x. */
INLINE void tile_store(const struct kern_product *p, uint32_t c, uint32_t at,
		       const __m256 sum[PAIR])
{
	store(p->y[c] + at, sum[0], p->n_row - at);
	if (p->n_row - at > 8)
		store(p->y[c] + at + 8, sum[1], p->n_row - at - 8);
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_TILE_AVX2_H */
