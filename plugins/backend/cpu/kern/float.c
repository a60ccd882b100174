/* SPDX-License-Identifier: MIT
 *
 * Selects the float kernels; the best table comes first. */
#include "kern/float.h"

#include "llamad/attr.h"
#include "llamad/host.h"

static const struct cpu_float *const tables[] = {
#ifdef CPU_WITH_AVX512
	&cpu_float_avx512,
#endif
#ifdef CPU_WITH_AVX2
	&cpu_float_avx2,
#endif
#ifdef CPU_WITH_NEON
	&cpu_float_neon,
#endif
	&cpu_float_c,
};

const struct cpu_float *cpu_float_select(uint64_t flags)
{
	for (size_t i = 0; i < LMD_LEN(tables); i++) {
		if ((tables[i]->flags & ~flags) == 0)
			return tables[i];
	}
	return &cpu_float_c;
}
