/* SPDX-License-Identifier: MIT
 *
 * Exact products with repacked weights, with AVX2. */
#include "packed_avx2.h"
#include "variants.h"

KERN_PACKED_TYPES(KERN_PACKED_AVX2)

#define ENTRY(ID) KERN_PACKED_AVX2_ENTRY(ID),
const struct kern_packed kern_packed_avx2[] = {
	KERN_PACKED_TYPES(ENTRY){.run = NULL},
};
