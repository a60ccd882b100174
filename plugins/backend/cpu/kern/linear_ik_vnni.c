/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512 and VNNI: the types of ik_llama.cpp with larger blocks. */
#include "linear_q8_avx512.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_VNNI(ID)
HOST_MEM_INT8_TYPES_IK(KERNEL)

#define ENTRY(ID, ...) KERN_VNNI_ENTRY(ID),
const struct kern_linear kern_ik_vnni[] = {
	HOST_MEM_INT8_TYPES_IK(ENTRY)
	{.run = NULL},
};
