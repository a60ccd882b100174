/* SPDX-License-Identifier: MIT
 *
 * small_avx512.h - types of less than 4 bits, eight rows, two blocks of 32 at a time; and the files
 * of all types. */
#ifndef LLAMAD_CPU_KERN_SMALL_AVX512_H
#define LLAMAD_CPU_KERN_SMALL_AVX512_H

#include "books_avx512.h"
#include "grid_two_avx512.h"
#include "k_avx512.h"
#include "trellis_avx512.h"
#include "types.h"

/* One byte for each two bits of 16 bytes. */
INLINE __m512i spread(const uint8_t *p)
{
	__m512i v = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));

	v = _mm512_or_si512(v, _mm512_slli_epi32(v, 6));
	v = _mm512_or_si512(v, _mm512_slli_epi32(v, 12));
	return _mm512_and_si512(v, _mm512_set1_epi8(3));
}

/* One more than the trits, 0 to 2, of blocks 2p and 2p + 1 of TQ1_0 (kern_trits_32). */
INLINE __m512i trit_codes(const uint8_t *b, int p)
{
	const __m512i high_bytes = _mm512_set1_epi16((short)0xff00);
	const __m512i powers = _mm512_castsi256_si512(
		_mm256_setr_epi16(9, 9, 9, 9, 9, 9, 9, 9, 27, 27, 27, 27, 27, 27, 27, 27));
	__m512i v, times, even, odd, code;

	if (p < 2) {
		v = load_twice(b);
		times = p ? words(9, 27) : words(1, 3);
	} else {
		__m512i last = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(b + 32)));

		if (p == 2) {
			v = _mm512_inserti64x4(last, _mm256_loadu_si256((const void *)b), 0);
			times = _mm512_inserti64x4(
				words(81, 1),
				_mm256_setr_epi16(1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3), 1);
		} else { /* the fifth trit of 16 bytes, and four of 4 bytes */
			v = _mm512_inserti32x4(last, _mm_set1_epi32((int)load32(b + 48)), 3);
			times = _mm512_inserti64x4(powers,
						   _mm256_setr_epi16(81, 81, 81, 81, 81, 81, 81, 81, 1,
								     1, 3, 3, 9, 9, 27, 27),
						   1);
		}
	}
	/* bytes times powers of 3, modulo 256 */
	even = _mm512_mullo_epi16(v, times);
	odd = _mm512_mullo_epi16(_mm512_and_si512(v, high_bytes), times);
	v = _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, even, odd);
	/* 3 * v reaches 256 from 86 on, and 512 from 171 on. */
	code = _mm512_mask_blend_epi8(_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8(86)),
				      _mm512_set1_epi8(1), _mm512_set1_epi8(2));
	return _mm512_mask_blend_epi8(_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)171)), code,
				      _mm512_set1_epi8(3));
}

/* Codes of the values -1, 0, 1 and 2, which become 1 to 4, since the shift is 1. */
INLINE __m512i plus_one(__m512i v)
{
	return _mm512_add_epi8(v, _mm512_set1_epi8(1));
}

/* Reads a block of 256 of a type with points: codes of all pairs of blocks of 32. */
INLINE void head_points(uint32_t dtype, const struct kern_iq_tables *t, const uint8_t *const w[8],
			size_t at, struct head *h)
{
	uint8_t sc[8][16];
	struct grid_parts parts[8];
	const uint8_t *rows[8];

	grid_prepare(dtype, w, at, parts);
#pragma GCC unroll 1 /* long enough without unrolling */
	for (int r = 0; r < 8; r++) {
		const uint8_t *two[2] = {w[r & ~1] + at, w[r | 1] + at};
		struct grid g[2];

		rows[r] = sc[r];
		if (r % 2)
			continue;
		grid_two(dtype, t, two, true, parts + r, g);
#pragma GCC unroll 2
		for (int i = 0; i < 2; i++) {
			to_values(dtype, g[i].x);
#pragma GCC unroll 4
			for (int p = 0; p < 4; p++)
				h->points[p][r + i] =
					kern_is_iq1(dtype)
						? _mm512_add_epi8(g[i].x[p], _mm512_set1_epi8(1))
						: g[i].x[p];
			_mm_storeu_si128((void *)sc[r + i], _mm512_cvtepi32_epi8(g[i].sc));
		}
	}
	columns(rows, 0, false, h->sc);
	h->d = _mm512_castsi512_ps(twice(_mm256_castps_si256(grid_ds(dtype, w, at))));
}

INLINE void codes_points(const struct head *h, int p, struct codes *c)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		c->q[r] = h->points[p][r];
	halves(h, p, c);
}

#define KERN_PART KERN_PART_AVX512
#include "types.gen.h"
#include "blocks_of_types.h"

/* Types whose values are sums of the bytes of numbers, minus 126, without separate signs. */
INLINE bool kern_has_numbers(uint32_t dtype)
{
	return dtype == LMD_DTYPE_IQ1_KT || dtype == LMD_DTYPE_IQ2_KT || dtype == LMD_DTYPE_IQ4_KT;
}

/* Numbers of blocks 2p and 2p + 1 of a row (trellis_avx512.h). */
INLINE void numbers_of_blocks(uint32_t dtype, const uint8_t *b, int p, __m512i x[4])
{
	if (dtype == LMD_DTYPE_IQ1_KT)
		numbers_iq1_kt(b, p, x);
	else if (dtype == LMD_DTYPE_IQ2_KT)
		numbers_iq2_kt(b, p, x);
	else
		numbers_iq4_kt(b, p, x);
}

#endif /* LLAMAD_CPU_KERN_SMALL_AVX512_H */
