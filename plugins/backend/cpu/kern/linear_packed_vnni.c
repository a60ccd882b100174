/* SPDX-License-Identifier: MIT
 *
 * Exact products with repacked weights, with AVX-512 and VNNI. */
#include "packed_avx512.h"
#include "variants.h"

KERN_PACKED_TYPES(KERN_PACKED_VNNI)

#define ENTRY(ID) KERN_PACKED_VNNI_ENTRY(ID),
const struct kern_packed kern_packed_vnni[] = {
	KERN_PACKED_TYPES(ENTRY)
	{.run = NULL},
};
