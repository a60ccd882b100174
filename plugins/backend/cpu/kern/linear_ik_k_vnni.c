/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512 and VNNI: the types of ik_llama.cpp with d in each block. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_IK_K
#include "linear_q8_avx512.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_VNNI(ID)
HOST_MEM_INT8_TYPES_IK_K(KERNEL)

#define ENTRY(ID, ...) KERN_VNNI_ENTRY(ID),
const struct kern_linear kern_ik_k_vnni[] = {
	HOST_MEM_INT8_TYPES_IK_K(ENTRY)
	{.run = NULL},
};
