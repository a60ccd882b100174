/* SPDX-License-Identifier: MIT
 *
 * Products in float with AVX2, FMA and F16C. */
#include <immintrin.h>
#include <string.h>

#include "kern.h"

typedef __m256 vec;

static inline vec bf16(const void *p)
{
	__m128i v = _mm_loadu_si128(p);

	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

static inline vec load_some_floats(const void *p, uint32_t n)
{
	float f[8] = {0};

	memcpy(f, p, n * sizeof(*f));
	return _mm256_loadu_ps(f);
}

static inline float sum_lanes(vec v)
{
	__m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

	s = _mm_add_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

#define W               8
#define TILE            3 /* twelve sums, three vectors of x and one of a weight */
#define ALONE           4
#define ZERO            _mm256_setzero_ps()
#define FMA             _mm256_fmadd_ps
#define LOAD(p)         _mm256_loadu_ps((const void *)(p))
#define LOAD_F16(p)     _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p)))
#define LOAD_BF16(p)    bf16(p)
#define LOAD_SOME(p, n) load_some_floats(p, n)
#define STORE(p, v)     _mm256_storeu_ps(p, v)
#define SUM             sum_lanes
#define ISA             "avx2"
#define FLAGS           LMD_CPU_AVX2
#define TABLE           kern_float_avx2
#include "linear_f32_body.h"
