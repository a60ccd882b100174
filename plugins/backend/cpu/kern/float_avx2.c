/* SPDX-License-Identifier: MIT
 *
 * Float kernels with AVX2, FMA and F16C. */
#include <immintrin.h>

#include "llamad/host.h"

#define W     8
#define ROWS  4
#define FEW   2
#define TABLE cpu_float_avx2
#define LABEL "avx2"
#define FLAGS LMD_CPU_AVX2

static void f16_from(const float *x, uint16_t *y, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		_mm_storeu_si128(
			(__m128i *)(void *)(y + i),
			_mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
	for (; i < n; i++)
		y[i] = (uint16_t)_cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}

static void f16_to(const uint16_t *x, float *y, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		_mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(
						(const __m128i *)(const void *)(x + i))));
	for (; i < n; i++)
		y[i] = _cvtsh_ss(x[i]);
}

static inline __m256 load_f16(const uint16_t *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

#define LARGER(a, b) ((vf)_mm256_max_ps((__m256)(a), (__m256)(b)))

/* Swaps neighbours. */
#define SWAP(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)

#include "kern/float_body.h"
