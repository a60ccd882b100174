/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX2: the types of ik_llama.cpp with d in each row. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_IK_KS
#include "linear_q8_avx2.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_AVX2_LONG(ID)
HOST_MEM_INT8_TYPES_IK_KS(KERNEL)

#define ENTRY(ID, ...) KERN_AVX2_ENTRY(ID),
const struct kern_linear kern_ik_ks_avx2[] = {
	HOST_MEM_INT8_TYPES_IK_KS(ENTRY)
	{.run = NULL},
};
