/* SPDX-License-Identifier: MIT
 *
 * Text model of Qwen2-VL and Qwen2.5-VL (arXiv 2409.12191): Qwen2 with M-RoPE. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static const struct lmd_checkpoint_map checkpoints[] = {
	/* The text models of vision models, whose positions have four parts. */
	{.type = "qwen2_vl",
	 .arch = "qwen2vl",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_norms},
	 .keys = arch_ckpt_put_upper_windows},
	{.type = "qwen2_5_vl",
	 .arch = "qwen2vl",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_norms},
	 .keys = arch_ckpt_put_upper_windows},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_BLOCKS,
	       .sections_required = true},
	.quant = {.v_layers = 80},
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(qwen2vl, traits, sets)
