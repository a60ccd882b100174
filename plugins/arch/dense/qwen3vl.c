/* SPDX-License-Identifier: MIT
 *
 * Text model of Qwen3-VL (arXiv 2511.21631): Qwen3 with interleaved M-RoPE; image rows have more
 * columns, which are added to the stream after the first layers (DeepStack). */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_POOL,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_INTERLEAVED,
	       .sections_required = true},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = lmi_hp_deepstack,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_TANH},
};

LMI_DECODER_ARCH(qwen3vl, traits, sets)
