/* SPDX-License-Identifier: MIT
 *
 * Text model of Qwen3-VL (arXiv 2511.21631): Qwen3 with interleaved M-RoPE; image rows have more
 * columns, which are added to the stream after the first layers (DeepStack). */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,  ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_POOL,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_INTERLEAVED,
	       .sections_required = true},
	.qk_norm = ARCH_QKN_HEAD,
	.adjust = arch_hp_deepstack,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_FN_TANH},
};

ARCH_DECODER_ARCH(qwen3vl, traits, sets)
