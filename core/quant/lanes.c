/* SPDX-License-Identifier: MIT
 *
 * Selects the variants of lanes.h that this processor can run. */
#include "core/quant/lanes.h"

#include <stddef.h>

#if defined(LANES_WITH_AVX512) && defined(LANES_WITH_AVX2)
static const struct lmi_lanes *const with_avx512[] = {&lmi_lanes_avx512, &lmi_lanes_avx2,
						      &lmi_lanes_c, NULL};
#endif
#ifdef LANES_WITH_AVX2
static const struct lmi_lanes *const with_avx2[] = {&lmi_lanes_avx2, &lmi_lanes_c, NULL};
#endif
static const struct lmi_lanes *const plain[] = {&lmi_lanes_c, NULL};

const struct lmi_lanes *const *lmi_lanes_all(void)
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
