/* SPDX-License-Identifier: MIT
 *
 * Weights in bf16 times activations in bf16 by tiles, for any number of rows of x: all have the same bits. */
#include "amx_bf16.h"
#include "variants.h"

const struct kern_linear kern_bf16_amx[] = {
	{.dtype = LMD_DTYPE_BF16, .act = KERN_ACT_BF16, .isa = "amx",
	 .flags = AMX_NEEDS | LMD_CPU_AMX_BF16,
	 .scratch_bytes = amx_bf16_scratch, .prepare = amx_bf16_prepare, .run = amx_bf16_run},
	{.run = NULL},
};
