/* SPDX-License-Identifier: MIT
 *
 * Exact products with NEON alone. */
#define ISA         "neon"
#define FLAGS       (LMD_CPU_NEON)
#define LINEAR_LIST kern_exact_neon
#define PACKED_LIST kern_packed_neon
#include "exact_neon_body.h"
