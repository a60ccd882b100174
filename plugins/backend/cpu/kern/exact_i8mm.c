/* SPDX-License-Identifier: MIT
 *
 * Exact products with NEON, SDOT and SMMLA. */
#define ISA         "i8mm"
#define FLAGS       (LMD_CPU_NEON | LMD_CPU_DOTPROD | LMD_CPU_I8MM)
#define LINEAR_LIST kern_exact_i8mm
#define PACKED_LIST kern_packed_i8mm
#include "exact_neon_body.h"
