/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512 and VNNI: larger blocks, 3 bits and more. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_LARGE
#include "linear_q8_avx512.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_VNNI(ID)
HOST_MEM_INT8_TYPES_LARGE(KERNEL)

#define ENTRY(ID, ...) KERN_VNNI_ENTRY(ID),
const struct kern_linear kern_k_vnni[] = {
	HOST_MEM_INT8_TYPES_LARGE(ENTRY)
	{.run = NULL},
};
