/* SPDX-License-Identifier: MIT
 *
 * dots.llm1 (arXiv 2506.05767): queries and keys are normalised per head; leading dense layers,
 * then a sigmoid router with shared experts. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM,
	LMI_SET_FFN_NORM, LMI_SET_FFN,       LMI_SET_MOE, LMI_SET_SHEXP,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = LMI_QKN_HEAD,
};
LMI_DECODER_ARCH(dots1, traits, sets)
