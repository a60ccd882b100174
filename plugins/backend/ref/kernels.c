/* SPDX-License-Identifier: MIT
 *
 * The variants of kernels_body.h: one for the compiler's baseline and, on x86-64, one that may use
 * 256-bit registers. */
#include "kernels.h"

#include <string.h>

#include "llamad/host.h"

/* The compiler maps these to the registers that are available. */
typedef float lanes __attribute__((vector_size(32)));
typedef int32_t ilanes __attribute__((vector_size(32)));
typedef int16_t shorts __attribute__((vector_size(16)));
typedef int8_t bytes __attribute__((vector_size(8)));

#define LANES_SUM(v)                                                                               \
	((((v)[0] + (v)[4]) + ((v)[2] + (v)[6])) + (((v)[1] + (v)[5]) + ((v)[3] + (v)[7])))

#define ATTR
#define NAME(x) x##_base
#include "kernels_body.h"
#undef ATTR
#undef NAME

#ifdef __x86_64__
#define ATTR    __attribute__((target("avx2")))
#define NAME(x) x##_avx2
#include "kernels_body.h"
#undef ATTR
#undef NAME
#endif

const struct ref_kernels *ref_kernels_select(const struct lmd_cpu *cpu)
{
#ifdef __x86_64__
	if (cpu->flags & LMD_CPU_AVX2)
		return &kernels_avx2;
#else
	(void)cpu;
#endif
	return &kernels_base;
}
