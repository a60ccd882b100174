/* SPDX-License-Identifier: MIT
 *
 * x86.h - what the kernels of AVX2 and AVX-512 share: facts of the types and the reading of heads of
 * blocks.  Included by files that are compiled for one of them; everything is inlined, with a
 * constant `dtype`, so that only the code of one type is left. */
#ifndef LLAMAD_CPU_KERN_X86_H
#define LLAMAD_CPU_KERN_X86_H

#include <immintrin.h>
#include <string.h>

#include "book.h"
#include "kern.h"

/* How far ahead weights are fetched. */
#define KERN_AHEAD 0x6000

#define INLINE static inline __attribute__((always_inline))

/* Bytes of a block of 32, or of 256 for the K types. */
INLINE uint32_t kern_block_bytes(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_0     ? 18
	       : dtype == LMD_DTYPE_Q4_1   ? 20
	       : dtype == LMD_DTYPE_Q5_0   ? 22
	       : dtype == LMD_DTYPE_Q5_1   ? 24
	       : dtype == LMD_DTYPE_Q8_0   ? 34
	       : dtype == LMD_DTYPE_IQ4_NL ? 18
	       : dtype == LMD_DTYPE_MXFP4  ? 17
	       : dtype == LMD_DTYPE_Q3_K   ? 110
	       : dtype == LMD_DTYPE_Q4_K   ? 144
	       : dtype == LMD_DTYPE_Q5_K   ? 176
	       : dtype == LMD_DTYPE_Q6_K   ? 210
					   : 136 /* IQ4_XS */;
}

/* Blocks of 256. */
INLINE bool kern_is_k(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q3_K || dtype == LMD_DTYPE_Q4_K || dtype == LMD_DTYPE_Q5_K ||
	       dtype == LMD_DTYPE_Q6_K || dtype == LMD_DTYPE_IQ4_XS;
}

/* Two factors of 8 bits in a block, one for each 16 values. */
INLINE bool kern_has_halves(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q3_K || dtype == LMD_DTYPE_Q6_K;
}

/* Codes are places in the book of 8-bit numbers. */
INLINE bool kern_has_iq4_book(uint32_t dtype)
{
	return dtype == LMD_DTYPE_IQ4_NL || dtype == LMD_DTYPE_IQ4_XS;
}

INLINE bool kern_has_min(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_1 || dtype == LMD_DTYPE_Q5_1 || dtype == LMD_DTYPE_Q4_K ||
	       dtype == LMD_DTYPE_Q5_K;
}

/* Codes are unsigned: what they have too much is a power of two. */
INLINE uint32_t kern_shift(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q3_K    ? 2
	       : dtype == LMD_DTYPE_Q4_0  ? 3
	       : dtype == LMD_DTYPE_Q5_0  ? 4
	       : dtype == LMD_DTYPE_MXFP4 ? 4
	       : dtype == LMD_DTYPE_Q6_K  ? 5
	       : dtype == LMD_DTYPE_Q8_0  ? 7
	       : kern_has_iq4_book(dtype) ? 7
					  : 0;
}

INLINE uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

INLINE uint32_t load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* out[i]: dword i of 16 bytes at each of eight addresses; or, with two_off, of the last 14 of them
 * and two zeros. */
INLINE void columns(const uint8_t *const w[8], size_t at, bool two_off, __m256i out[4])
{
	__m256i v[4], t[4];

#pragma GCC unroll 8
	for (int r = 0; r < 4; r++) {
		v[r] = _mm256_setr_m128i(_mm_loadu_si128((const void *)(w[r] + at)),
					 _mm_loadu_si128((const void *)(w[r + 4] + at)));
		if (two_off)
			v[r] = _mm256_srli_si256(v[r], 2);
	}
	t[0] = _mm256_unpacklo_epi32(v[0], v[1]);
	t[1] = _mm256_unpackhi_epi32(v[0], v[1]);
	t[2] = _mm256_unpacklo_epi32(v[2], v[3]);
	t[3] = _mm256_unpackhi_epi32(v[2], v[3]);
	out[0] = _mm256_unpacklo_epi64(t[0], t[2]);
	out[1] = _mm256_unpackhi_epi64(t[0], t[2]);
	out[2] = _mm256_unpacklo_epi64(t[1], t[3]);
	out[3] = _mm256_unpackhi_epi64(t[1], t[3]);
}

/* The 16 scales of Q3_K less 32, as bytes: four low bits in v[0] and v[1], two high ones in v[2]. */
INLINE void scales_3(const __m256i v[4], __m256i sc[4])
{
	const __m256i four = _mm256_set1_epi8(15), two = _mm256_set1_epi8(3);

#pragma GCC unroll 8
	for (int i = 0; i < 4; i++) {
		__m256i low = i < 2 ? v[i] : _mm256_srli_epi16(v[i < 2 ? 0 : i - 2], 4);
		__m256i high = _mm256_and_si256(_mm256_srli_epi16(v[2], 2 * i), two);

		low = _mm256_or_si256(_mm256_and_si256(low, four), _mm256_slli_epi16(high, 4));
		sc[i] = _mm256_sub_epi8(low, _mm256_set1_epi8(32));
	}
}

/* Rows that come later, while `done` bytes of each of eight rows are used up and `n` more are about
 * to be: prefetchers of processors follow single rows, and short ones end too soon for that. */
INLINE void look_ahead(const uint8_t *later, size_t done, size_t n)
{
#pragma GCC unroll 16
	for (size_t i = 0; i < 8 * n; i += 64)
		_mm_prefetch((const char *)later + 8 * done + i, _MM_HINT_T1);
}

/* Where rows r..r+8 look ahead: KERN_AHEAD bytes, in the slice and then in what comes next. */
INLINE const uint8_t *rows_later(const struct kern_product *p, uint32_t r)
{
	size_t at = r * p->w_stride + KERN_AHEAD, end = p->n_row * p->w_stride;

	if (at < end)
		return (const uint8_t *)p->w + at;
	return p->next ? (const uint8_t *)p->next + (at - end)
		       : (const uint8_t *)p->w + r * p->w_stride;
}

/* Addresses of eight rows from r on; the last one again behind the end. */
INLINE void addresses(const struct kern_product *p, uint32_t r, const uint8_t *w[8])
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t row = r + i < p->n_row ? r + i : p->n_row - 1;

		w[i] = (const uint8_t *)p->w + row * p->w_stride;
	}
}

#endif /* LLAMAD_CPU_KERN_X86_H */
