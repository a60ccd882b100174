/* SPDX-License-Identifier: MIT
 *
 * iq6_k_avx512.h - decodes rows of IQ6_K to the floats of core/quant/iq6_k.c.  Its codebook is a cubic
 * of floats, so that its products are no integer sums (kern.h). */
#ifndef LLAMAD_PLUGINS_BACKEND_CPU_KERN_IQ6_K_AVX512_H
#define LLAMAD_PLUGINS_BACKEND_CPU_KERN_IQ6_K_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Offsets in a block of 256 values. */
#define IQ6_K_SECOND 2
#define IQ6_K_SCALES 4
#define IQ6_K_QS     20
#define IQ6_K_QH     148
#define IQ6_K_BYTES  212

/* Numbers 16i to 16i+15 of the codebook. */
static inline __m512 iq6_k_book(int i)
{
	const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m512 q = _mm512_cvtepi32_ps(_mm512_add_epi32(lane, _mm512_set1_epi32(16 * i)));
	__m512 v = _mm512_add_ps(_mm512_set1_ps(-0.11218f),
				 _mm512_mul_ps(q, _mm512_set1_ps(0.0011972f)));

	v = _mm512_add_ps(_mm512_set1_ps(6.2568f), _mm512_mul_ps(q, v));
	return _mm512_add_ps(_mm512_set1_ps(-127.0f), _mm512_mul_ps(q, v));
}

/* The codes of groups g, g + 1, g + 4 and g + 5 of 16 values: fields of the 64 bytes at lo, from bit
 * lo_at on, and of the 32 bytes at hi, from bit hi_at on and four bits further. */
static inline __m512i iq6_k_codes(const uint8_t *lo, int lo_at, const uint8_t *hi, int hi_at)
{
	const __m256i h = _mm256_loadu_si256((const void *)hi);
	const __m512i by = _mm512_inserti64x4(_mm512_set1_epi16((short)hi_at),
					      _mm256_set1_epi16((short)(hi_at + 4)), 1);
	__m512i l = _mm512_srli_epi16(_mm512_loadu_si512(lo), (unsigned)lo_at), high;

	high = _mm512_srlv_epi16(_mm512_inserti64x4(_mm512_castsi256_si512(h), h, 1), by);
	high = _mm512_slli_epi16(_mm512_and_si512(high, _mm512_set1_epi8(3)), 4);
	return _mm512_or_si512(_mm512_and_si512(l, _mm512_set1_epi8(15)), high);
}

/* Decodes k values, a multiple of 256. */
static inline void iq6_k_decode(const uint8_t *b, uint32_t k, float *out)
{
	const __m512 book[4] = {iq6_k_book(0), iq6_k_book(1), iq6_k_book(2), iq6_k_book(3)};
	const __m512i upper = _mm512_set1_epi32(32);

	for (uint32_t i = 0; i < k; i += 256, b += IQ6_K_BYTES, out += 256) {
		_Alignas(64) uint8_t codes[4][64];
		_Alignas(64) float d[16], add[16];
		uint16_t half, second;

		memcpy(&half, b, sizeof(half));
		memcpy(&second, b + IQ6_K_SECOND, sizeof(second));
		_mm512_store_ps(add, _mm512_maskz_mov_ps(second, _mm512_set1_ps(1.0f)));
		_mm512_store_ps(d, _mm512_mul_ps(_mm512_set1_ps(_cvtsh_ss(half)),
						 _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(
							 (const void *)(b + IQ6_K_SCALES))))));
#pragma GCC unroll 4
		for (int j = 0; j < 4; j++) /* groups 8(j/2) + 2(j%2) + {0, 1, 4, 5} */
			_mm512_store_si512(codes[j], iq6_k_codes(b + IQ6_K_QS + 64 * (j / 2), j % 2 * 4,
								 b + IQ6_K_QH + 32 * (j / 2), j % 2 * 2));
#pragma GCC unroll 16
		for (int g = 0; g < 16; g++) {
			const uint8_t *at = codes[g / 8 * 2 + g / 2 % 2] + 16 * (g / 4 % 2 * 2 + g % 2);
			const __m512i q = _mm512_cvtepu8_epi32(_mm_load_si128((const void *)at));
			__m512 v = _mm512_permutex2var_ps(book[0], q, book[1]);

			v = _mm512_mask_blend_ps(_mm512_test_epi32_mask(q, upper), v,
						 _mm512_permutex2var_ps(book[2], q, book[3]));
			v = _mm512_add_ps(v, _mm512_set1_ps(add[g]));
			_mm512_storeu_ps(out + 16 * g, _mm512_mul_ps(_mm512_set1_ps(d[g]), v));
		}
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_CPU_KERN_IQ6_K_AVX512_H */
