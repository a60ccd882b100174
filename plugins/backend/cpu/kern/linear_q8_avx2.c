/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX2: the types of 4 bits and more, and Q3_K. */
#include "linear_q8_avx2.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_AVX2(ID)
HOST_MEM_INT8_TYPES_32(KERNEL)
HOST_MEM_INT8_TYPES_LARGE(KERNEL)

#define ENTRY(ID, ...) KERN_AVX2_ENTRY(ID),
const struct kern_linear kern_exact_avx2[] = {
	HOST_MEM_INT8_TYPES_32(ENTRY)
	HOST_MEM_INT8_TYPES_LARGE(ENTRY)
	{.run = NULL},
};
