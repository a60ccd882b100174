/* SPDX-License-Identifier: MIT
 *
 * OLMoE (arXiv 2409.02060): queries and keys are normalised over all heads together; the router's
 * weights are not renormalised. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM,
	LMI_SET_QKV,      LMI_REQ(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	LMI_SET_FFN_NORM, LMI_SET_MOE,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = LMI_QKN_FULL,
	.moe_gate = true,
};
LMI_DECODER_ARCH(olmoe, traits, sets)
