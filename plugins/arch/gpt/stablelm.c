/* SPDX-License-Identifier: MIT
 *
 * StableLM 2 (arXiv 2402.17834): LLaMA with LayerNorm and partial rotation.  The 12B model
 * normalises queries and keys per head and has no ffn_norm: its blocks are parallel. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_OPT(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH),
	ARCH_ROWS_OPT(T_FFN_NORM, T_FFN_NORM),
	ARCH_SET_FFN,
};

static void read_norm_placement(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	if (arch_hp_tensor(hp, "blk.0.ffn_norm.weight") == LMD_NONE)
		hp->norm_placement = ARCH_NORM_PARALLEL;
}

/* Checkpoints. StableLM: each head has a norm. */
static const struct lmd_checkpoint_row stablelm_rows[] = {
	{"layers.%d.self_attn.q_layernorm.norms.%d",
	 "blk.%d.attn_q_norm",
	 {.stack = LMD_CKPT_HEADS, .flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_layernorm.norms.%d",
	 "blk.%d.attn_k_norm",
	 {.stack = LMD_CKPT_HEADS, .flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {.flags = LMD_CKPT_OPTIONAL}},
};

static void checkpoint_stablelm(struct lmd_checkpoint *c)
{
	c->put_bool(c, "use_parallel_residual", c->get_bool(c, "use_parallel_residual", false));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "stablelm",
	 .arch = "stablelm",
	 .pretokenizer = "stablelm2",
	 .flags = LMD_CKPT_LAYER_NORM,
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, ARCH_CKPT_ROWS(stablelm_rows)},
	 .keys = checkpoint_stablelm},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = ARCH_QKN_HEAD_OWN,
	.qk_norm_kind = LMD_NORM_LAYER,
	.adjust = read_norm_placement,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(stablelm, traits, sets)
