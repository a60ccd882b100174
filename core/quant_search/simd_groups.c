/* SPDX-License-Identifier: MIT
 *
 * Selects the variants of simd_groups.h that this processor can run. */
#include "core/quant_search/simd_groups.h"

#include <stddef.h>

#if defined(LANES_WITH_AVX512) && defined(LANES_WITH_AVX2)
static const struct lmi_search_simd_groups_ops *const with_avx512[] = {
	&lmi_search_simd_avx512, &lmi_search_simd_avx2, &lmi_search_simd_c, NULL};
#endif
#ifdef LANES_WITH_AVX2
static const struct lmi_search_simd_groups_ops *const with_avx2[] = {&lmi_search_simd_avx2,
								     &lmi_search_simd_c, NULL};
#endif
static const struct lmi_search_simd_groups_ops *const plain[] = {&lmi_search_simd_c, NULL};

const struct lmi_search_simd_groups_ops *const *lmi_search_simd_groups_variants(void)
{
#if defined(LANES_WITH_AVX512) && defined(LANES_WITH_AVX2)
	/* all features that the compiler flags of that file allow */
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512vnni"))
		return with_avx512;
#endif
#ifdef LANES_WITH_AVX2
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("bmi2"))
		return with_avx2;
#endif
	return plain;
}
