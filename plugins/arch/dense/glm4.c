/* SPDX-License-Identifier: MIT
 *
 * GLM-4-0414 and the text model of GLM-4.1V (model cards zai-org/GLM-4-9B-0414,
 * GLM-4.1V-9B-Thinking): norms before and after the blocks; gate and up are fused.  Files with
 * rope.dimension_sections use M-RoPE with NeoX-style rotation. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN_FUSED,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static void pairing(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	if (hp->sections_kind)
		hp->rope_pairing = LMD_ROPE_HALVES;
}

static const struct lmd_checkpoint_row glm4_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_self_attn_layernorm", "blk.%d.post_attention_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.post_mlp_layernorm", "blk.%d.post_ffw_norm", {0}},
	{"layers.%d.mlp.gate_up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "glm4",
	 .arch = "glm4",
	 .pretokenizer = "glm4",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(glm4_rows)}},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .sections_kind = LMD_SECTIONS_BLOCKS},
	.norm_placement = ARCH_NORM_SANDWICH,
	.ffn_fused = true,
	.adjust = pairing,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(glm4, traits, sets)
