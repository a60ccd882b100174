/* SPDX-License-Identifier: MIT
 *
 * Exact products by tiles: the types of 4 bits and more, and Q3_K. */
#define KERN_BLOCKS_32     HOST_MEM_INT8_TYPES_32
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_LARGE
#include "amx_rows_avx512.h"

#define PLACE(ID, ...) PLACE_##ID,
enum { HOST_MEM_INT8_TYPES_32(PLACE) };
enum { HOST_MEM_INT8_TYPES_LARGE(PLACE) };

#define KERNEL(ID, ...) AMX_LINEAR(ID, &kern_exact_vnni[PLACE_##ID])
HOST_MEM_INT8_TYPES_32(KERNEL)
#define KERNEL_K(ID, ...) AMX_LINEAR(ID, &kern_k_vnni[PLACE_##ID])
HOST_MEM_INT8_TYPES_LARGE(KERNEL_K)

#define ENTRY(ID, ...) AMX_LINEAR_ENTRY(ID),
const struct kern_linear kern_exact_amx[] = {
	HOST_MEM_INT8_TYPES_32(ENTRY)
	HOST_MEM_INT8_TYPES_LARGE(ENTRY)
	{.run = NULL},
};
