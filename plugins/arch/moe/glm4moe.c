/* SPDX-License-Identifier: MIT
 *
 * GLM-4.5 and 4.6 (arXiv 2508.06471) and the text model of GLM-4.5V: partial rotation; normalised
 * queries and keys in the large model; leading dense layers; a sigmoid router with a selection
 * bias.  Files with rope.dimension_sections use M-RoPE. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_OPT(T_ATTN_Q_NORM, T_ATTN_K_NORM),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN,
	ARCH_SET_MOE,
	ARCH_SET_SHEXP,
};

/* Checkpoints. GLM 4.5, dots. */
static const struct lmd_checkpoint_row glm4_moe_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {.flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {.flags = LMD_CKPT_OPTIONAL}},
};

static void glm4_moe(struct lmd_checkpoint *c)
{
	arch_ckpt_put_shared_count(c, "n_shared_experts");
	arch_ckpt_put_routing(c, ARCH_CKPT_SIGMOID);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "glm4_moe",
	 .arch = "glm4moe",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_dense_moe,
		  ARCH_CKPT_ROWS(glm4_moe_norms)},
	 .layers = arch_ckpt_dense_layers,
	 .keys = glm4_moe},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_BLOCKS,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.t_ffn_norm = T_POST_ATTN_NORM,
	.qk_norm = ARCH_QKN_HEAD,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(glm4moe, traits, sets)
