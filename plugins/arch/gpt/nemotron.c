/* SPDX-License-Identifier: MIT
 *
 * Nemotron-4 and Minitron (arXiv 2402.16819): LayerNorm, partial rotation, squared ReLU without a
 * gate. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

/* Norm weights are stored minus 1. */
static const struct lmd_checkpoint_row nemotron_rows[] = {
	{"embed_tokens", "token_embd", {0}},
	{"norm", "output_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "nemotron",
	 .arch = "nemotron",
	 .flags = LMD_CKPT_LAYER_NORM,
	 .rows = {ARCH_CKPT_ROWS(nemotron_rows), &arch_ckpt_attn}},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_RELU2,
	.ffn_plain = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(nemotron, traits, sets)
