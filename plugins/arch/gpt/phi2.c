/* SPDX-License-Identifier: MIT
 *
 * Phi-1.5 and Phi-2 (arXiv 2309.05463): both blocks share one LayerNorm; all matrices have biases,
 * including the output; partial rotation. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_FFN_PLAIN,
};

/* Checkpoints. Phi 1 and 2. */
static const struct lmd_checkpoint_row phi_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"final_layernorm", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.self_attn.q_proj", "blk.%d.attn_q", {0}},
	{"layers.%d.self_attn.k_proj", "blk.%d.attn_k", {0}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {0}},
	{"layers.%d.self_attn.dense", "blk.%d.attn_output", {0}},
	{"layers.%d.mlp.fc1", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.fc2", "blk.%d.ffn_down", {0}},
};

static void phi(struct lmd_checkpoint *c)
{
	arch_ckpt_require_bool(c, "qk_layernorm", false);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "phi",
	 .arch = "phi2",
	 .pretokenizer = "phi-2",
	 .flags = LMD_CKPT_LAYER_NORM,
	 .rows = {ARCH_CKPT_ROWS(phi_rows)},
	 .keys = phi},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_PARALLEL,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(phi2, traits, sets)
