/* SPDX-License-Identifier: MIT
 *
 * Command R and R+ (model cards CohereLabs/c4ai-command-r-v01, -plus): both blocks share one
 * LayerNorm without bias; R+ normalises queries and keys per head; logits are scaled. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,    ARCH_ROWS_OPT(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH),
	ARCH_SET_FFN,
};

static const struct arch_key_f32 floats[] = {
	{"logit_scale", ARCH_HP(logit_scale), ARCH_OPTIONAL, 0, 0, 1e6f},
};

/* Checkpoints. Cohere: the checkpoint itself uses adjacent pairs. */
static const struct lmd_checkpoint_row cohere_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {.flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {.flags = LMD_CKPT_OPTIONAL}},
};

const struct lmd_checkpoint_rows arch_cohere_ckpt_rows = {cohere_rows, LMD_LEN(cohere_rows), 0};

void arch_cohere_ckpt_keys(struct lmd_checkpoint *c)
{
	c->tied = c->get_bool(c, "tie_word_embeddings", true);
	c->put_f32(c, "logit_scale", c->get_float(c, "logit_scale", 0.0625));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "cohere",
	 .arch = "command-r",
	 .pretokenizer = "command-r",
	 .flags = LMD_CKPT_LAYER_NORM,
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_cohere_ckpt_rows},
	 .keys = arch_cohere_ckpt_keys},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_ADJACENT},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.norm_placement = ARCH_NORM_PARALLEL,
	.qk_norm = ARCH_QKN_HEAD_OWN,
	.qk_norm_kind = LMD_NORM_LAYER,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(command_r, traits, sets)
