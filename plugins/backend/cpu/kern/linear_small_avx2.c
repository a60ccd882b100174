/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX2: the types of less than 4 bits. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_LOW
#include "linear_q8_avx2.h"
#include "variants.h"

#define KERNEL(ID, ...) KERN_AVX2(ID)
HOST_MEM_INT8_TYPES_LOW(KERNEL)
#define LONG(ID, ...) KERN_AVX2_LONG(ID)
HOST_MEM_INT8_TYPES_POINTS(LONG)

#define ENTRY(ID, ...) KERN_AVX2_ENTRY(ID),
const struct kern_linear kern_small_avx2[] = {
	HOST_MEM_INT8_TYPES_LOW(ENTRY)
	HOST_MEM_INT8_TYPES_POINTS(ENTRY)
	{.run = NULL},
};
