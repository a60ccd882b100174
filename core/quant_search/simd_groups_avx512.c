/* SPDX-License-Identifier: MIT */
#include "core/quant_search/simd_groups_x86.h"

#define LANES_NAME lmi_search_simd_avx512
#define LANES_TEXT "avx512"
#define V	   16
#define VF	   __m512

#define v_set(f)	   _mm512_set1_ps(f)
#define v_load(p)	   _mm512_load_ps(p)
#define v_store(p, v)	   _mm512_store_ps(p, v)
#define v_max(a, b)	   _mm512_max_ps(a, b)
#define v_min(a, b)	   _mm512_min_ps(a, b)
#define v_over(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), y, x)
#define v_f16(v)	   _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))

#include "core/quant_search/simd_groups_impl.h"
