/* SPDX-License-Identifier: MIT
 *
 * Transposes between values and lanes in blocks of 4 x 4, for the x86 variants of simd_groups.h. */
#include <immintrin.h>
#include <string.h>

#include "core/quant_search/simd_groups.h"

static void transpose(const float *from, int n_group, int n, float (*to)[LMI_SEARCH_SIMD_GROUPS])
{
	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l += 4) {
		const float *row[4];

		for (int k = 0; k < 4; k++)
			row[k] = from + (l + k < n_group ? l + k : 0) * n;
		for (int i = 0; i < n; i += 4) {
			__m128 a = _mm_loadu_ps(row[0] + i), b = _mm_loadu_ps(row[1] + i);
			__m128 c = _mm_loadu_ps(row[2] + i), d = _mm_loadu_ps(row[3] + i);

			_MM_TRANSPOSE4_PS(a, b, c, d);
			_mm_store_ps(&to[i][l], a);
			_mm_store_ps(&to[i + 1][l], b);
			_mm_store_ps(&to[i + 2][l], c);
			_mm_store_ps(&to[i + 3][l], d);
		}
	}
}

/* The values are integers within int8_t. */
static void transpose_codes(float (*from)[LMI_SEARCH_SIMD_GROUPS], int n, int8_t *q)
{
	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l += 4) {
		for (int i = 0; i < n; i += 4) {
			__m128 a = _mm_load_ps(&from[i][l]), b = _mm_load_ps(&from[i + 1][l]);
			__m128 c = _mm_load_ps(&from[i + 2][l]), d = _mm_load_ps(&from[i + 3][l]);
			__m128i bytes;
			int32_t four[4];

			_MM_TRANSPOSE4_PS(a, b, c, d);
			bytes = _mm_packs_epi16(
				_mm_packs_epi32(_mm_cvtps_epi32(a), _mm_cvtps_epi32(b)),
				_mm_packs_epi32(_mm_cvtps_epi32(c), _mm_cvtps_epi32(d)));
			_mm_storeu_si128((__m128i *)(void *)four, bytes);
			for (int k = 0; k < 4; k++)
				memcpy(q + (l + k) * n + i, &four[k], 4);
		}
	}
}
