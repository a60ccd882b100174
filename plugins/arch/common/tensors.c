/* SPDX-License-Identifier: MIT
 *
 * tensors.c - the two tables of tensors.h, generated from its list. */
#include "arch/common/tensors.h"

#define REQ LMD_TENSOR_REQUIRED
#define BIA LMD_TENSOR_BIAS
#define SCA LMD_TENSOR_SCALE
#define BAR LMD_TENSOR_BARE
#define GLB LMD_TENSOR_GLOBAL
#define PEX LMD_TENSOR_PER_EXPERT
#define ANY LMD_TENSOR_ANY_SHAPE /* a square matrix or a single row */

#define ROW(name, stem, d0, d1, d2, flags, split, when, alt)                                       \
	[T_##name] = {stem, {d0, d1, d2, 0}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, when, alt},
#define ROW_OPT(name, stem, d0, d1, d2, flags, split, when, alt)                                   \
	[T_##name] = {stem, {d0, d1, d2, 0}, ((flags) & ~REQ) | ARCH_LORA(split), LMD_SPLIT_##split, when, alt},

const struct lmd_tensor_row arch_rows[T_N] = {ARCH_TENSOR_LIST(ROW)};
const struct lmd_tensor_row arch_rows_opt[T_N] = {ARCH_TENSOR_LIST(ROW_OPT)};
