/* SPDX-License-Identifier: MIT
 *
 * Qwen2 and Qwen2.5 (arXiv 2407.10671): LLaMA with biases of q, k, v and NeoX-style rotation. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_POOL,
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "qwen2",
	 .arch = "qwen2",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_norms},
	 .keys = arch_ckpt_put_upper_windows},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.pool = {.rank_act = LMD_ACT_FN_TANH},
	.quant = {.v_layers = 80},
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(qwen2, traits, sets)
