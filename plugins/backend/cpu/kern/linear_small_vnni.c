/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512 and VNNI: the types of less than 4 bits. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_LOW
#include "linear_q8_avx512.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_VNNI(ID)
HOST_MEM_INT8_TYPES_LOW(KERNEL)
HOST_MEM_INT8_TYPES_POINTS(KERNEL)

#define ENTRY(ID, ...) KERN_VNNI_ENTRY(ID),
const struct kern_linear kern_small_vnni[] = {
	HOST_MEM_INT8_TYPES_LOW(ENTRY)
	HOST_MEM_INT8_TYPES_POINTS(ENTRY)
	{.run = NULL},
};
