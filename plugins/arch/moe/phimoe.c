/* SPDX-License-Identifier: MIT
 *
 * Phi-3.5-MoE (arXiv 2404.14219): norms and projections have biases; one of two sets of frequency
 * factors is chosen by context length. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_MOE,
	LMI_SET_ROPE_FACTORS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.moe_gate = true,
};
LMI_DECODER_ARCH(phimoe, traits, sets)
