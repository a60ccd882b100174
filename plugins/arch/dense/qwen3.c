/* SPDX-License-Identifier: MIT
 *
 * Qwen3 (arXiv 2505.09388): queries and keys are normalised per head.  Rerankers end with a softmax
 * over the labels of the last row. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_POOL,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = LMI_QKN_HEAD,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_TANH},
};

LMI_DECODER_ARCH(qwen3, traits, sets)
