/* SPDX-License-Identifier: MIT
 *
 * Float kernels with AVX-512. */
#include <immintrin.h>

#include "llamad/host.h"

#define W     16
#define ROWS  8
#define FEW   3
#define TABLE cpu_float_avx512
#define LABEL "avx512"
#define FLAGS (LMD_CPU_AVX2 | LMD_CPU_AVX512 | LMD_CPU_AVX512_VNNI)

static void f16_from(const float *x, uint16_t *y, size_t n)
{
	size_t i = 0;

	for (; i + 16 <= n; i += 16)
		_mm256_storeu_si256(
			(__m256i *)(void *)(y + i),
			_mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
	for (; i < n; i++)
		y[i] = (uint16_t)_cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}

static void f16_to(const uint16_t *x, float *y, size_t n)
{
	size_t i = 0;

	for (; i + 16 <= n; i += 16)
		_mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256(
						(const __m256i *)(const void *)(x + i))));
	for (; i < n; i++)
		y[i] = _cvtsh_ss(x[i]);
}

static inline __m512 load_f16(const uint16_t *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

#define ADD_UP(v)   _mm512_reduce_add_ps((__m512)(v))
#define GREATEST(v) _mm512_reduce_max_ps((__m512)(v))
#define LARGER(a, b) ((vf)_mm512_max_ps((__m512)(a), (__m512)(b)))

/* Swaps neighbours. */
#define SWAP(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

#include "kern/float_body.h"
