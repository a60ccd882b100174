/* SPDX-License-Identifier: MIT
 *
 * StarCoder 2 (arXiv 2402.19173): LayerNorm, rotation, biases, GELU without a gate. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

/* Checkpoints. StarCoder 2, Nemotron. */
static const struct lmd_checkpoint_row norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.flags = LMD_CKPT_OPTIONAL}},
};

static const struct lmd_checkpoint_row starcoder2_rows[] = {
	{"layers.%d.mlp.c_fc", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.c_proj", "blk.%d.ffn_down", {0}},
};

static void checkpoint_starcoder2(struct lmd_checkpoint *c)
{
	arch_ckpt_put_folder_window(c, arch_ckpt_window_size(c, 0), NULL);
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "starcoder2",
	 .arch = "starcoder2",
	 .pretokenizer = "starcoder",
	 .flags = LMD_CKPT_LAYER_NORM,
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(starcoder2_rows),
		  ARCH_CKPT_ROWS(norms)},
	 .keys = checkpoint_starcoder2},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(starcoder2, traits, sets)
