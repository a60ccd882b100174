/* SPDX-License-Identifier: MIT */
#include "core/quant_search/simd_groups_x86.h"

#define LANES_NAME lmi_search_simd_avx2
#define LANES_TEXT "avx2"
#define V	   8
#define VF	   __m256

#define v_set(f)	   _mm256_set1_ps(f)
#define v_load(p)	   _mm256_load_ps(p)
#define v_store(p, v)	   _mm256_store_ps(p, v)
#define v_max(a, b)	   _mm256_max_ps(a, b)
#define v_min(a, b)	   _mm256_min_ps(a, b)
#define v_over(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GT_OQ))
#define v_f16(v)	   _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))

#include "core/quant_search/simd_groups_impl.h"
