/* SPDX-License-Identifier: MIT
 *
 * Exact products by tiles: the types of ik_llama.cpp with larger blocks. */
#include "amx_rows_avx512.h"

#define PLACE(ID, ...) PLACE_##ID,
enum { HOST_MEM_INT8_TYPES_IK(PLACE) };

#define KERNEL(ID, ...) AMX_LINEAR(ID, &kern_ik_vnni[PLACE_##ID])
HOST_MEM_INT8_TYPES_IK(KERNEL)

#define ENTRY(ID, ...) AMX_LINEAR_ENTRY(ID),
const struct kern_linear kern_ik_amx[] = {
	HOST_MEM_INT8_TYPES_IK(ENTRY)
	{.run = NULL},
};
