/* SPDX-License-Identifier: MIT
 *
 * grid_vbmi.h - types whose values are points of a grid of at most 512: reads a block of 256 of two
 * rows with byte permutations (AVX-512 VBMI), in the order of grid_avx512.h.
 *
 * A table has a word for each point, which holds the numbers of its levels: 2 bits for each of
 * eight values of IQ2, 4 bits for each of four values of IQ3.  The words are looked up in registers
 * as two bytes.  A shift then brings the number of each value into its byte, another one its sign
 * above it, and the two together select the code. */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_VBMI_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_VBMI_H

#include "grid_avx512.h"

#define EACH_BYTE 0x0101010101010101

/* Bytes `first` plus n times 1, where n is given for each qword. */
INLINE __m512i qwords(long long first, int n0, int n1, int n2, int n3, int n4, int n5, int n6,
		      int n7)
{
	return _mm512_add_epi8(
		_mm512_set1_epi64(first),
		_mm512_setr_epi64(n0 * EACH_BYTE, n1 * EACH_BYTE, n2 * EACH_BYTE, n3 * EACH_BYTE,
				  n4 * EACH_BYTE, n5 * EACH_BYTE, n6 * EACH_BYTE, n7 * EACH_BYTE));
}

/* Of two rows, in the order of x; qword n has four bytes of the first row and then four bytes of
 * the second one.  Rows of IQ3 have eight indices in a qword; they are looked up one by one. */
struct grid_two {
	__m512i index[2]; /* low 8 bits */
	__mmask64 ninth[2]; /* bit 8 of the indices, if the type has it */
	__m512i signs;
};

/* Adds an eighth sign to the low seven bits of each byte: the number of minus signs is even. */
INLINE __m512i even_signs_512(__m512i v)
{
	const __m512i odd = in_lanes((int)0x00808000, (int)0x80000080, (int)0x80000080, 0x00808000);
	__m512i n;

	v = _mm512_and_si512(v, _mm512_set1_epi8(0x7f));
	n = _mm512_xor_si512(v, _mm512_srli_epi16(v, 4));
	n = _mm512_and_si512(n, _mm512_set1_epi8(15));
	return _mm512_or_si512(v, _mm512_shuffle_epi8(odd, n));
}

/* Signs from dwords with four indices of 7 bits. */
INLINE __m512i signs_of_sevens(__m512i v)
{
	return even_signs_512(
		_mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352e2720150e0700), v));
}

/* The dwords at b0, and between them those at b1. */
INLINE __m512i merge_dwords(const uint8_t *b0, const uint8_t *b1)
{
	const __m512i lanes = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
						23);
	__m256i v0 = _mm256_loadu_si256((const void *)b0);
	__m256i v1 = _mm256_loadu_si256((const void *)b1);

	return _mm512_permutex2var_epi32(_mm512_castsi256_si512(v0), lanes,
					 _mm512_castsi256_si512(v1));
}

INLINE void two_iq2_xxs(const uint8_t *b0, const uint8_t *b1, struct grid_two *g)
{
	const __m512i even = _mm512_setr_epi32(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28,
					       14, 30);
	const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
	__m512i v0 = _mm512_loadu_si512(b0 + 2), v1 = _mm512_loadu_si512(b1 + 2);

	g->index[0] = _mm512_permutex2var_epi32(v0, even, v1);
	g->signs = signs_of_sevens(_mm512_permutex2var_epi32(v0, odd, v1));
}

INLINE void two_iq2_xs(const uint8_t *b0, const uint8_t *b1, struct grid_two *g)
{
	const __m512i low = qwords(0x4a4842400a080200, 0, 4, 16, 20, 32, 36, 48, 52);
	const __m512i high = _mm512_add_epi8(low, _mm512_set1_epi8(1));
	__m512i v0 = _mm512_loadu_si512(b0 + 2), v1 = _mm512_loadu_si512(b1 + 2), h;

	g->index[0] = _mm512_permutex2var_epi8(v0, low, v1);
	h = _mm512_permutex2var_epi8(v0, high, v1);
	g->ninth[0] = _mm512_test_epi8_mask(h, _mm512_set1_epi8(1));
	g->signs = even_signs_512(_mm512_srli_epi16(h, 1));
}

INLINE void two_read(uint32_t dtype, const uint8_t *const b[2], struct grid_two *g)
{
	if (dtype == LMD_DTYPE_IQ2_XXS) {
		two_iq2_xxs(b[0], b[1], g);
		return;
	}
	if (dtype == LMD_DTYPE_IQ2_XS) {
		two_iq2_xs(b[0], b[1], g);
		return;
	}
	for (int i = 0; i < 2; i++) {
		g->index[i] = _mm512_loadu_si512(b[i] + 2);
		if (dtype == LMD_DTYPE_IQ3_S)
			g->ninth[i] = load64(b[i] + 66);
	}
	g->signs = dtype == LMD_DTYPE_IQ3_S ? merge_dwords(b[0] + 74, b[1] + 74)
					    : signs_of_sevens(merge_dwords(b[0] + 66, b[1] + 66));
}

/* ---- tables ---- */

INLINE const uint8_t *level_table(uint32_t dtype, const struct kern_iq_tables *t)
{
	const struct kern_iq_levels *l = kern_iq_levels(t);

	return dtype == LMD_DTYPE_IQ2_XXS  ? l->iq2_xxs
	       : dtype == LMD_DTYPE_IQ2_XS ? l->iq2_xs
	       : dtype == LMD_DTYPE_IQ3_S  ? l->iq3_s
					   : l->iq3_xxs;
}

INLINE __m512i look_up_bytes_256(const uint8_t *table, __m512i i)
{
	__m512i a = _mm512_permutex2var_epi8(_mm512_load_si512(table), i,
					     _mm512_load_si512(table + 64));
	__m512i b = _mm512_permutex2var_epi8(_mm512_load_si512(table + 128), i,
					     _mm512_load_si512(table + 192));

	return _mm512_mask_blend_epi8(_mm512_movepi8_mask(i), a, b);
}

/* Byte i of a table of n bytes. */
INLINE __m512i look_up_bytes(const uint8_t *table, size_t n, __m512i i, __mmask64 ninth)
{
	__m512i v = look_up_bytes_256(table, i);

	return n == 256 ? v
			: _mm512_mask_blend_epi8(ninth, v, look_up_bytes_256(table + 256, i));
}

/* Words of the table: out[0] and out[1] of the two rows of IQ2; of one row of IQ3, out[0] for x[0]
 * and x[1], and out[1] for x[2] and x[3]. */
INLINE void look_up_words(uint32_t dtype, const struct kern_iq_tables *t, __m512i i,
			  __mmask64 ninth, __m512i out[2])
{
	const size_t n = dtype == LMD_DTYPE_IQ2_XS || dtype == LMD_DTYPE_IQ3_S ? 512 : 256;
	const uint8_t *table = level_table(dtype, t);
	__m512i low = look_up_bytes(table, n, i, ninth);
	__m512i high = look_up_bytes(table + n, n, i, ninth);
	__m512i even = _mm512_unpacklo_epi8(low, high), odd = _mm512_unpackhi_epi8(low, high);

	out[0] = _mm512_unpacklo_epi64(even, odd);
	out[1] = _mm512_unpackhi_epi64(even, odd);
}

/* Codes by number of level; the second half is for negative values. */
INLINE __m512i level_codes(uint32_t dtype)
{
	if (dtype == LMD_DTYPE_IQ3_XXS)
		return in_lanes(0x5c544c44, (int)0x7e746c64, 0x242c343c, 0x020c141c);
	if (dtype == LMD_DTYPE_IQ3_S)
		return in_lanes(0x17151311, 0x1f1d1b19, 0x090b0d0f, 0x01030507);
	return in_lanes(0x406b5948, 0x40152738, 0x406b5948, 0x40152738);
}

/* Reads a block of two rows: codes that exceed the values by 2^kern_code_shift. */
INLINE void grid_read_two(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *const b[2],
			  struct grid g[2])
{
	const bool four = kern_has_groups_of_4(dtype);
	const __m512i sign = _mm512_set1_epi8(four ? 8 : 4), codes = level_codes(dtype);
	struct grid_two two;
	__m512i words[2][2];

	two_read(dtype, b, &two);
	look_up_words(dtype, t, two.index[0], two.ninth[0], words[0]);
	if (four)
		look_up_words(dtype, t, two.index[1], two.ninth[1], words[1]);
#pragma GCC unroll 2
	for (int i = 0; i < 2; i++) {
		g[i].sc = grid_factors(dtype, b[i]);
#pragma GCC unroll 4
		for (int m = 0; m < 4; m++) {
			const int at = 32 * i + 8 * m - (four ? 3 : 2);
			__m512i w = four ? words[i][m / 2] : words[0][i];
			__m512i by = _mm512_set1_epi64(
				four ? 0x1c1814100c080400 + m % 2 * (32 * EACH_BYTE)
				     : 0x0e0c0a0806040200 + m * (16 * EACH_BYTE));
			__m512i s = _mm512_add_epi8(_mm512_set1_epi64(0x0706050403020100),
						    _mm512_set1_epi8((char)at));

			w = _mm512_multishift_epi64_epi8(by, w);
			s = _mm512_multishift_epi64_epi8(s, two.signs);
			w = _mm512_ternarylogic_epi32(sign, s, w, 0xca);
			g[i].x[m] = _mm512_permutexvar_epi8(w, codes);
		}
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_GRID_VBMI_H */
