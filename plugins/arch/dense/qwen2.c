/* SPDX-License-Identifier: MIT
 *
 * Qwen2 and Qwen2.5 (arXiv 2407.10671): LLaMA with biases of q, k, v and NeoX-style rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_POOL,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.pool = {.rank_act = LMD_ACT_TANH},
};

LMI_DECODER_ARCH(qwen2, traits, sets)
