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

#define PACKED_TYPES(X)                                                                            \
	X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q4_K) X(Q5_K) X(Q6_K) X(IQ4_NL) X(IQ4_XS) X(MXFP4)

HOST_MEM_INT8_TYPES(LINEAR)
PACKED_TYPES(PACKED)

const struct kern_linear LINEAR_LIST[] = {
	HOST_MEM_INT8_TYPES(LINEAR_ENTRY)
	{.run = NULL},
};

const struct kern_packed PACKED_LIST[] = {
	PACKED_TYPES(PACKED_ENTRY)
	{.run = NULL},
};
