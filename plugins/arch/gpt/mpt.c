/* SPDX-License-Identifier: MIT
 *
 * MPT (model card mosaicml/mpt-7b): LayerNorm, ALiBi or learned positions; queries, keys and values
 * may be clamped. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_ROWS_OPT(T_POS_EMBD, T_POS_EMBD),
};

static const struct arch_key_f32 floats[] = {
	{"attention.clamp_kqv", ARCH_HP(clamp_qkv), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"attention.max_alibi_bias", ARCH_HP(alibi_max), ARCH_OPTIONAL, 0, 0, 1e3f},
};

static const struct lmd_checkpoint_row mpt_rows[] = {
	{"wte", "token_embd", {0}},
	{"norm_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"blocks.%d.norm_1", "blk.%d.attn_norm", {0}},
	{"blocks.%d.attn.Wqkv", "blk.%d.attn_qkv", {0}},
	{"blocks.%d.attn.out_proj", "blk.%d.attn_output", {0}},
	{"blocks.%d.norm_2", "blk.%d.ffn_norm", {0}},
	{"blocks.%d.ffn.up_proj", "blk.%d.ffn_up", {0}},
	{"blocks.%d.ffn.down_proj", "blk.%d.ffn_down", {0}},
};

static void checkpoint_mpt(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
	c->put_f32(c, "attention.max_alibi_bias",
		   c->get_bool(c, "attn_config.alibi", true)
			   ? c->get_float(c, "attn_config.alibi_bias_max", 8)
			   : 0);
	if (c->has(c, "attn_config.clip_qkv"))
		c->put_f32(c, "attention.clamp_kqv", c->get_float(c, "attn_config.clip_qkv", 0));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "mpt",
	 .arch = "mpt",
	 .pretokenizer = "mpt",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_NO_ROPE,
	 .rows = {ARCH_CKPT_ROWS(mpt_rows)},
	 .keys = checkpoint_mpt},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.pos_embd = true,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(mpt, traits, sets)
