/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512 and VNNI: blocks of 32. */
#define KERN_BLOCKS_32     HOST_MEM_INT8_TYPES_32
#define KERN_LARGER_BLOCKS KERN_NO_TYPES
#include "linear_q8_avx512.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_VNNI(ID)
HOST_MEM_INT8_TYPES_32(KERNEL)

#define ENTRY(ID, ...) KERN_VNNI_ENTRY(ID),
const struct kern_linear kern_exact_vnni[] = {
	HOST_MEM_INT8_TYPES_32(ENTRY)
	{.run = NULL},
};
