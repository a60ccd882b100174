/* SPDX-License-Identifier: MIT
 *
 * GPT-NeoX and Pythia (arXiv 2204.06745): LayerNorm, partial rotation; a key says whether the
 * blocks are parallel (each with its own norm) or sequential. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

static void read_norm_placement(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->norm_placement = arch_key_bool(k, "use_parallel_residual", ARCH_REQUIRED, true)
				     ? ARCH_NORM_PARALLEL
				     : ARCH_NORM_PRE;
}

/* Checkpoints. GPT-NeoX, BLOOM: query, key and value of each head are interleaved. */
static const struct lmd_checkpoint_row neox_rows[] = {
	{"embed_in", "token_embd", {0}},
	{"final_layer_norm", "output_norm", {0}},
	{"embed_out", "output", {.flags = LMD_CKPT_ROOT | LMD_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.attention.query_key_value", "blk.%d.attn_qkv", {.op = LMD_CKPT_QKV}},
	{"layers.%d.attention.dense", "blk.%d.attn_output", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.mlp.dense_h_to_4h", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.dense_4h_to_h", "blk.%d.ffn_down", {0}},
};

static void neox(struct lmd_checkpoint *c)
{
	c->put_bool(c, "use_parallel_residual", c->get_bool(c, "use_parallel_residual", true));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "gpt_neox",
	 .arch = "gptneox",
	 .flags = LMD_CKPT_LAYER_NORM | LMD_CKPT_MHA,
	 .rows = {ARCH_CKPT_ROWS(neox_rows)},
	 .keys = neox},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.adjust = read_norm_placement,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(gptneox, traits, sets)
