/* SPDX-License-Identifier: MIT
 *
 * Exact products with AVX-512, VNNI and VBMI: types whose values are points of a grid,
 * of at most 512. */
#define KERN_BLOCKS_32     KERN_NO_TYPES
#define KERN_LARGER_BLOCKS KERN_NO_TYPES
#include "linear_q8_avx512.h"
#include "variants.h"

KERN_VNNI(IQ2_XXS)
KERN_VNNI(IQ2_XS)
KERN_VNNI(IQ3_XXS)
KERN_VNNI(IQ3_S)

const struct kern_linear kern_grid_vbmi[] = {
	KERN_VBMI_ENTRY(IQ2_XXS),
	KERN_VBMI_ENTRY(IQ2_XS),
	KERN_VBMI_ENTRY(IQ3_XXS),
	KERN_VBMI_ENTRY(IQ3_S),
	{.run = NULL},
};
