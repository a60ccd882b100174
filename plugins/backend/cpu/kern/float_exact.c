/* SPDX-License-Identifier: MIT
 *
 * Float kernels of `deterministic = exact`: 16 lanes whatever the processor has, compiled without
 * contraction, so the bits are the same on every processor.  docs/exact.md states the order of the
 * sums, which kernels of devices follow as well. */
#define W     16
#define ROWS  4
#define FEW   2
#define TABLE cpu_float_exact
#define LABEL "exact"
#define FLAGS 0
#define EXP   device_exact_exp
/* Swaps neighbours. */
#define SWAP(v) \
	__builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

#include "backend/common/exact_math.h"
#include "kern/float_half.h"
#include "kern/float_body.h"
