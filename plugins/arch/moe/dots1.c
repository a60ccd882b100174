/* SPDX-License-Identifier: MIT
 *
 * dots.llm1 (arXiv 2506.05767): queries and keys are normalised per head; leading dense layers,
 * then a sigmoid router with shared experts. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_MOE, ARCH_SET_SHEXP,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
};
ARCH_DECODER_ARCH(dots1, traits, sets)
