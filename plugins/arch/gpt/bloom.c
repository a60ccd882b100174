/* SPDX-License-Identifier: MIT
 *
 * BLOOM (arXiv 2211.05100): LayerNorm after the embedding, ALiBi, GELU without a gate. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_ROWS_REQ(T_TOKEN_EMBD_NORM, T_TOKEN_EMBD_NORM),
};

static void alibi(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->alibi_max = 8.0f;
}

static const struct lmd_checkpoint_row bloom_rows[] = {
	{"word_embeddings", "token_embd", {0}},
	{"word_embeddings_layernorm", "token_embd_norm", {0}},
	{"ln_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"h.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"h.%d.self_attention.query_key_value", "blk.%d.attn_qkv", {.op = LMD_CKPT_QKV}},
	{"h.%d.self_attention.dense", "blk.%d.attn_output", {0}},
	{"h.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"h.%d.mlp.dense_h_to_4h", "blk.%d.ffn_up", {0}},
	{"h.%d.mlp.dense_4h_to_h", "blk.%d.ffn_down", {0}},
};

static void checkpoint_bloom(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
	arch_ckpt_require_bool(c, "apply_residual_connection_post_layernorm", false);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "bloom",
	 .arch = "bloom",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_NO_ROPE | LMD_CKPT_MHA,
	 .rows = {ARCH_CKPT_ROWS(bloom_rows)},
	 .keys = checkpoint_bloom},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.embd_norm = ARCH_EMBD_NORM_ROW,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.adjust = alibi,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(bloom, traits, sets)
