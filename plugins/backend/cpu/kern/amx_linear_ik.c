/* SPDX-License-Identifier: MIT
 *
 * Exact products by tiles: the types of ik_llama.cpp with larger blocks. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS HOST_MEM_INT8_TYPES_IK
#include "amx_rows_avx512.h"

#define PLACE(ID, ...) PLACE_##ID,
enum { HOST_MEM_INT8_TYPES_IK_K(PLACE) };
enum { HOST_MEM_INT8_TYPES_IK_KS(PLACE) };
enum { HOST_MEM_INT8_TYPES_IK_KT(PLACE) };

#define KERNEL_K(ID, ...) AMX_LINEAR(ID, &kern_ik_k_vnni[PLACE_##ID])
HOST_MEM_INT8_TYPES_IK_K(KERNEL_K)
#define KERNEL_KS(ID, ...) AMX_LINEAR(ID, &kern_ik_ks_vnni[PLACE_##ID])
HOST_MEM_INT8_TYPES_IK_KS(KERNEL_KS)
#define KERNEL_KT(ID, ...) AMX_LINEAR(ID, &kern_ik_kt_vnni[PLACE_##ID])
HOST_MEM_INT8_TYPES_IK_KT(KERNEL_KT)

#define ENTRY(ID, ...) AMX_LINEAR_ENTRY(ID),
const struct kern_linear kern_ik_amx[] = {
	HOST_MEM_INT8_TYPES_IK(ENTRY)
	{.run = NULL},
};
