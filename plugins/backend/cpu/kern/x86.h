/* SPDX-License-Identifier: MIT
 *
 * x86.h - what the kernels of AVX2 and AVX-512 share: facts of the types and the reading of heads of
 * blocks.  Included by files that are compiled for one of them; everything is inlined, with a
 * constant `dtype`, so that only the code of one type is left. */
#ifndef LLAMAD_CPU_KERN_X86_H
#define LLAMAD_CPU_KERN_X86_H

#include <immintrin.h>
#include <string.h>

#include "kern.h"

#define INLINE static inline __attribute__((always_inline))

/* Bytes of a block of 32, or of 256 for the K types. */
INLINE uint32_t kern_block_bytes(uint32_t dtype)
{
	switch (dtype) {
	case LMD_DTYPE_Q4_0:
		return 18;
	case LMD_DTYPE_Q4_1:
		return 20;
	case LMD_DTYPE_Q5_0:
		return 22;
	case LMD_DTYPE_Q5_1:
		return 24;
	case LMD_DTYPE_Q8_0:
		return 34;
	case LMD_DTYPE_Q4_K:
		return 144;
	case LMD_DTYPE_Q5_K:
		return 176;
	default: /* Q6_K */
		return 210;
	}
}

INLINE bool kern_is_k(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_K || dtype == LMD_DTYPE_Q5_K || dtype == LMD_DTYPE_Q6_K;
}

INLINE bool kern_has_min(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_1 || dtype == LMD_DTYPE_Q5_1 || dtype == LMD_DTYPE_Q4_K ||
	       dtype == LMD_DTYPE_Q5_K;
}

/* Codes are unsigned: what they have too much is a power of two. */
INLINE uint32_t kern_shift(uint32_t dtype)
{
	return dtype == LMD_DTYPE_Q4_0   ? 3
	       : dtype == LMD_DTYPE_Q5_0 ? 4
	       : dtype == LMD_DTYPE_Q8_0 ? 7
	       : dtype == LMD_DTYPE_Q6_K ? 5
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

/* out[i]: dword i of 16 bytes at each of eight addresses. */
INLINE void columns(const uint8_t *const w[8], size_t at, __m256i out[4])
{
	__m256i v[4], t[4];

#pragma GCC unroll 8
	for (int r = 0; r < 4; r++)
		v[r] = _mm256_inserti128_si256(
			_mm256_castsi128_si256(_mm_loadu_si128((const void *)(w[r] + at))),
			_mm_loadu_si128((const void *)(w[r + 4] + at)), 1);
	t[0] = _mm256_unpacklo_epi32(v[0], v[1]);
	t[1] = _mm256_unpackhi_epi32(v[0], v[1]);
	t[2] = _mm256_unpacklo_epi32(v[2], v[3]);
	t[3] = _mm256_unpackhi_epi32(v[2], v[3]);
	out[0] = _mm256_unpacklo_epi64(t[0], t[2]);
	out[1] = _mm256_unpackhi_epi64(t[0], t[2]);
	out[2] = _mm256_unpacklo_epi64(t[1], t[3]);
	out[3] = _mm256_unpackhi_epi64(t[1], t[3]);
}

/* The eight rows behind these, which lie in one piece or nearly so, while `done` bytes of each of
 * eight are used up and `n` more are about to be: prefetchers of processors follow single rows, and
 * short ones end too soon for that. */
INLINE void look_ahead(const uint8_t *next, size_t done, size_t n)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < 8 * n; i += 64)
		_mm_prefetch((const char *)next + 8 * done + i, _MM_HINT_T1);
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
