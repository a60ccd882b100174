/* SPDX-License-Identifier: MIT
 *
 * Phi-3.5-MoE (arXiv 2404.14219): norms and projections have biases; one of two sets of frequency
 * factors is chosen by context length. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_MOE,       ARCH_SET_ROPE_FACTORS,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.moe_gate = true,
};
ARCH_DECODER_ARCH(phimoe, traits, sets)
