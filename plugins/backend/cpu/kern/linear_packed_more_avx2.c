/* SPDX-License-Identifier: MIT
 *
 * Exact products with repacked weights, with AVX2: the types that no other instruction set repacks. */
#include "packed_avx2.h"
#include "variants.h"

KERN_PACKED_TYPES_AVX2(KERN_PACKED_AVX2)

#define ENTRY(ID) KERN_PACKED_AVX2_ENTRY(ID),
const struct kern_packed kern_packed_more_avx2[] = {
	KERN_PACKED_TYPES_AVX2(ENTRY){.run = NULL},
};
