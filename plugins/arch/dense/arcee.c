/* SPDX-License-Identifier: MIT
 *
 * Arcee AFM (model card arcee-ai/AFM-4.5B-Base): LLaMA with a squared ReLU and no gate. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_SET_ROPE_FACTORS,
};

static const struct lmd_checkpoint_row mlp[] = {
	{"layers.%d.mlp.up_proj", "blk.%d.ffn_up", {0}},
	{"layers.%d.mlp.down_proj", "blk.%d.ffn_down", {0}},
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "arcee",
	 .arch = "arcee",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, ARCH_CKPT_ROWS(mlp), &arch_ckpt_norms}},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.act = LMD_ACT_FN_RELU2,
	.ffn_plain = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(arcee, traits, sets)
