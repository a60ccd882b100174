/* SPDX-License-Identifier: MIT
 *
 * exact_neon_body.h - the lists of exact kernels of exact_neon.c, exact_dotprod.c and
 * exact_i8mm.c, which differ only in the flags that they are compiled with.  Each defines
 *
 *     ISA, FLAGS            of the kernels
 *     LINEAR_LIST, PACKED_LIST   names of the lists */
#include "linear_q8_neon.h"
#include "packed_neon.h"
#include "variants.h"

HOST_MEM_INT8_TYPES(LINEAR)
KERN_PACKED_TYPES(PACKED)

const struct kern_linear LINEAR_LIST[] = {
	HOST_MEM_INT8_TYPES(LINEAR_ENTRY)
	{.run = NULL},
};

const struct kern_packed PACKED_LIST[] = {
	KERN_PACKED_TYPES(PACKED_ENTRY)
	{.run = NULL},
};
