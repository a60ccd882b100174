/* SPDX-License-Identifier: MIT
 *
 * Falcon (arXiv 2311.16867): both blocks share one LayerNorm and add to the same stream; the 40B
 * model has a separate norm for attention. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_ROWS_OPT(T_ATTN_NORM_2, T_ATTN_NORM_2),
	ARCH_SET_QKV,    ARCH_SET_FFN_PLAIN,
};

/* Checkpoints. Falcon: groups of queries, each with its key and value. */
static const struct lmd_checkpoint_row falcon_rows[] = {
	{"word_embeddings", "token_embd", {0}},
	{"ln_f", "output_norm", {0}},
	{"lm_head", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"h.%d.input_layernorm", "blk.%d.attn_norm", {.flags = LMD_CKPT_OPTIONAL}},
	{"h.%d.ln_mlp", "blk.%d.attn_norm", {.flags = LMD_CKPT_OPTIONAL}},
	{"h.%d.ln_attn", "blk.%d.attn_norm_2", {.flags = LMD_CKPT_OPTIONAL}},
	{"h.%d.self_attention.query_key_value", "blk.%d.attn_qkv", {.op = LMD_CKPT_QKV}},
	{"h.%d.self_attention.dense", "blk.%d.attn_output", {0}},
	{"h.%d.mlp.dense_h_to_4h", "blk.%d.ffn_up", {0}},
	{"h.%d.mlp.dense_4h_to_h", "blk.%d.ffn_down", {0}},
};

static void checkpoint_falcon(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
	arch_ckpt_require_bool(c, "alibi", false);
	arch_ckpt_require_bool(c, "parallel_attn", true);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "falcon",
	 .arch = "falcon",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_KV_BY_GROUPS,
	 .rows = {ARCH_CKPT_ROWS(falcon_rows)},
	 .keys = checkpoint_falcon},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_PARALLEL,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.quant = {.flags = LMD_QUANT_FIRST_DOWN},
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(falcon, traits, sets)
