/* SPDX-License-Identifier: MIT
 *
 * Exact products with NEON and SDOT. */
#define ISA         "dotprod"
#define FLAGS       (LMD_CPU_NEON | LMD_CPU_DOTPROD)
#define LINEAR_LIST kern_exact_dotprod
#define PACKED_LIST kern_packed_dotprod
#include "exact_neon_body.h"
