/* SPDX-License-Identifier: MIT
 *
 * Portable variant of simd_groups.h, one lane at a time: the oracle, and the fallback for other
 * processors. */
#include "core/base/float16.h"
#include "core/quant_search/simd_groups.h"

#define LANES_NAME lmi_search_simd_c
#define LANES_TEXT "c"
#define V	   1
#define VF	   float

#define v_set(f)	   ((float)(f))
#define v_load(p)	   (*(p))
#define v_store(p, v)	   (*(p) = (v))
#define v_max(a, b)	   ((a) > (b) ? (a) : (b))
#define v_min(a, b)	   ((a) < (b) ? (a) : (b))
#define v_over(a, b, x, y) ((a) > (b) ? (x) : (y))
#define v_f16(v)	   lmi_f16_to_f32(lmi_f32_to_f16(v))

static void transpose(const float *from, int n_group, int n, float (*to)[LMI_SEARCH_SIMD_GROUPS])
{
	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++)
		for (int i = 0; i < n; i++)
			to[i][l] = from[(l < n_group ? l : 0) * n + i];
}

static void transpose_codes(float (*from)[LMI_SEARCH_SIMD_GROUPS], int n, int8_t *q)
{
	for (int l = 0; l < LMI_SEARCH_SIMD_GROUPS; l++)
		for (int i = 0; i < n; i++)
			q[l * n + i] = (int8_t)from[i][l];
}

#include "core/quant_search/simd_groups_impl.h"
