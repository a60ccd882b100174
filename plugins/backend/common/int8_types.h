/* SPDX-License-Identifier: MIT
 *
 * int8_types.h - the types whose products with activations rounded to 8 bits are exact integer sums
 * (plugins/backend/ref/op_linear_int8.c has the definition).  All other types are decoded and
 * multiplied in float. */
#ifndef LLAMAD_PLUGINS_BACKEND_COMMON_INT8_TYPES_H
#define LLAMAD_PLUGINS_BACKEND_COMMON_INT8_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/types.h"

static inline bool host_mem_int8_type(uint32_t dtype)
{
	switch (dtype) {
	case LMD_DTYPE_Q4_0:
	case LMD_DTYPE_Q4_1:
	case LMD_DTYPE_Q5_0:
	case LMD_DTYPE_Q5_1:
	case LMD_DTYPE_Q8_0:
	case LMD_DTYPE_Q2_K:
	case LMD_DTYPE_Q3_K:
	case LMD_DTYPE_Q4_K:
	case LMD_DTYPE_Q5_K:
	case LMD_DTYPE_Q6_K:
	case LMD_DTYPE_IQ1_S:
	case LMD_DTYPE_IQ1_M:
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ2_XS:
	case LMD_DTYPE_IQ2_S:
	case LMD_DTYPE_IQ3_XXS:
	case LMD_DTYPE_IQ3_S:
	case LMD_DTYPE_IQ4_NL:
	case LMD_DTYPE_IQ4_XS:
	case LMD_DTYPE_TQ1_0:
	case LMD_DTYPE_TQ2_0:
	case LMD_DTYPE_MXFP4:
	case LMD_DTYPE_NVFP4:
	case LMD_DTYPE_Q1_0:
	case LMD_DTYPE_Q2_0:
		return true;
	default:
		return false;
	}
}

#endif /* LLAMAD_PLUGINS_BACKEND_COMMON_INT8_TYPES_H */
