/* SPDX-License-Identifier: MIT
 *
 * StarCoder (arXiv 2305.06161): GPT-2 with multi-query attention. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_ROWS_REQ(T_POS_EMBD, T_POS_EMBD),
};

/* SantaCoder and StarCoder: GPT-2 with ordinary linear layers and a single key head. */
static const struct lmd_checkpoint_row bigcode_rows[] = {
	{"h.%d.ln_1", "blk.%d.attn_norm", {0}},
	{"h.%d.attn.c_attn", "blk.%d.attn_qkv", {0}},
	{"h.%d.attn.c_proj", "blk.%d.attn_output", {0}},
	{"h.%d.ln_2", "blk.%d.ffn_norm", {0}},
	{"h.%d.mlp.c_fc", "blk.%d.ffn_up", {0}},
	{"h.%d.mlp.c_proj", "blk.%d.ffn_down", {0}},
};

static void bigcode(struct lmd_checkpoint *c)
{
	arch_gpt2_ckpt_keys(c);
	arch_ckpt_require_bool(c, "multi_query", true);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "gpt_bigcode",
	 .arch = "starcoder",
	 .pretokenizer = "starcoder",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_NO_ROPE | LMD_CKPT_MQA,
	 .rows = {&arch_gpt2_ckpt_head, ARCH_CKPT_ROWS(bigcode_rows)},
	 .keys = bigcode},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.pos_embd = true,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(starcoder, traits, sets)
