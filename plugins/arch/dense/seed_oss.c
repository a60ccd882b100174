/* SPDX-License-Identifier: MIT
 *
 * Seed-OSS (model card ByteDance-Seed/Seed-OSS-36B-Instruct): Qwen2 whose second norm is called
 * post_attention_norm. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,    ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN,
};

/* Checkpoints. similar models. */
static const struct lmd_checkpoint_row seed_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.post_attention_norm", {0}},
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "seed_oss",
	 .arch = "seed_oss",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, ARCH_CKPT_ROWS(seed_norms)}},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.t_ffn_norm = T_POST_ATTN_NORM,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(seed_oss, traits, sets)
