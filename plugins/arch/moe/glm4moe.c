/* SPDX-License-Identifier: MIT
 *
 * GLM-4.5 and 4.6 (arXiv 2508.06471) and the text model of GLM-4.5V: partial rotation; normalised
 * queries and keys in the large model; leading dense layers; a sigmoid router with a selection
 * bias.  Files with rope.dimension_sections use M-RoPE.  Draft layers are not run. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,
	LMI_SET_ATTN_NORM,
	LMI_SET_QKV,
	LMI_OPT(T_ATTN_Q_NORM, T_ATTN_K_NORM),
	LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN,
	LMI_SET_MOE,
	LMI_SET_SHEXP,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_BLOCKS,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.t_ffn_norm = T_POST_ATTN_NORM,
	.qk_norm = LMI_QKN_HEAD,
};
LMI_DECODER_ARCH(glm4moe, traits, sets)
