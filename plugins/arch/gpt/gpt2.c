/* SPDX-License-Identifier: MIT
 *
 * GPT-2 (Radford et al., 2019): LayerNorm, learned positions, GELU without a gate. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_ROWS_REQ(T_POS_EMBD, T_POS_EMBD),
};

/* Checkpoints. GPT-2: Conv1D, whose weights are [in, out]. */
static const struct lmd_checkpoint_row gpt2_head[] = {
	{"wte", "token_embd", {0}},
	{"wpe", "position_embd", {0}},
	{"ln_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
};

const struct lmd_checkpoint_rows arch_gpt2_ckpt_head = {gpt2_head, LMD_LEN(gpt2_head), 0};

static const struct lmd_checkpoint_row gpt2_rows[] = {
	{"h.%d.ln_1", "blk.%d.attn_norm", {0}},
	{"h.%d.attn.c_attn", "blk.%d.attn_qkv", {.op = LMD_CKPT_TRANSPOSE}},
	{"h.%d.attn.c_proj", "blk.%d.attn_output", {.op = LMD_CKPT_TRANSPOSE}},
	{"h.%d.ln_2", "blk.%d.ffn_norm", {0}},
	{"h.%d.mlp.c_fc", "blk.%d.ffn_up", {.op = LMD_CKPT_TRANSPOSE}},
	{"h.%d.mlp.c_proj", "blk.%d.ffn_down", {.op = LMD_CKPT_TRANSPOSE}},
};

void arch_gpt2_ckpt_keys(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
	arch_ckpt_require_bool(c, "scale_attn_by_inverse_layer_idx", false);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "gpt2",
	 .arch = "gpt2",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_NO_ROPE,
	 .rows = {&arch_gpt2_ckpt_head, ARCH_CKPT_ROWS(gpt2_rows)},
	 .keys = arch_gpt2_ckpt_keys},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.pos_embd = true,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(gpt2, traits, sets)
