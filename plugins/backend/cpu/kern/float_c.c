/* SPDX-License-Identifier: MIT
 *
 * Float kernels for any processor. */
#define W     4
#define ROWS  4
#define FEW   2
#define TABLE cpu_float_c
#define LABEL "c"
#define FLAGS 0

/* Swaps neighbours. */
#define SWAP(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)

#include "kern/float_half.h"
#include "kern/float_body.h"
