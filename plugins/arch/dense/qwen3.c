/* SPDX-License-Identifier: MIT
 *
 * Qwen3 (arXiv 2505.09388): queries and keys are normalised per head.  Rerankers end with a softmax
 * over the labels of the last row. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,  ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_POOL,
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "qwen3",
	 .arch = "qwen3",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_qk_norms},
	 .keys = arch_ckpt_put_upper_windows},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = ARCH_QKN_HEAD,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_FN_TANH},
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(qwen3, traits, sets)
