/* SPDX-License-Identifier: MIT
 *
 * Exact products by tiles: the types of less than 4 bits. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_LOW
#include "amx_rows_avx512.h"

#define PLACE(ID, ...) PLACE_##ID,
enum { HOST_MEM_INT8_TYPES_LOW(PLACE) HOST_MEM_INT8_TYPES_POINTS(PLACE) };

#define KERNEL(ID, ...) AMX_LINEAR(ID, few_rows(LMD_DTYPE_##ID, PLACE_##ID))

/* Some of the points have a kernel with VBMI. */
INLINE const struct kern_linear *few_rows(uint32_t dtype, size_t place)
{
	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
		return &kern_grid_vbmi[0];
	case LMD_DTYPE_IQ2_XS:
		return &kern_grid_vbmi[1];
	case LMD_DTYPE_IQ3_XXS:
		return &kern_grid_vbmi[2];
	case LMD_DTYPE_IQ3_S:
		return &kern_grid_vbmi[3];
	default:
		return &kern_small_vnni[place];
	}
}

HOST_MEM_INT8_TYPES_LOW(KERNEL)
HOST_MEM_INT8_TYPES_POINTS(KERNEL)

#define ENTRY(ID, ...) AMX_LINEAR_ENTRY(ID),
const struct kern_linear kern_small_amx[] = {
	HOST_MEM_INT8_TYPES_LOW(ENTRY)
	HOST_MEM_INT8_TYPES_POINTS(ENTRY)
	{.run = NULL},
};
