/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512 and VNNI: the types of ik_llama.cpp with d in each row. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_IK_KS
#include "linear_q8_avx512.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_VNNI(ID)
HOST_MEM_INT8_TYPES_IK_KS(KERNEL)

#define ENTRY(ID, ...) KERN_VNNI_ENTRY(ID),
const struct kern_linear kern_ik_ks_vnni[] = {
	HOST_MEM_INT8_TYPES_IK_KS(ENTRY)
	{.run = NULL},
};
