/* SPDX-License-Identifier: MIT
 *
 * Products in float with AVX-512. */
#include <immintrin.h>

#include "iq6_k_avx512.h"
#include "kern.h"

typedef __m512 vec;

static inline vec bf16(const void *p)
{
	__m256i v = _mm256_loadu_si256(p);

	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}

#define W               16
#define TILE            6
#define ALONE           2
#define ZERO            _mm512_setzero_ps()
#define FMA             _mm512_fmadd_ps
#define LOAD(p)         _mm512_loadu_ps((const void *)(p))
#define LOAD_F16(p)     _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p)))
#define LOAD_BF16(p)    bf16(p)
#define LOAD_SOME(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define STORE(p, v)     _mm512_storeu_ps(p, v)
#define SUM             _mm512_reduce_add_ps
#define DECODE_IQ6_K    iq6_k_decode
#define ISA             "avx512"
#define FLAGS           (LMD_CPU_AVX2 | LMD_CPU_AVX512)
#define TABLE           kern_float_avx512
#include "linear_f32_body.h"
