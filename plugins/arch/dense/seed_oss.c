/* SPDX-License-Identifier: MIT
 *
 * Seed-OSS (model card ByteDance-Seed/Seed-OSS-36B-Instruct): Qwen2 whose second norm is called
 * post_attention_norm. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,    ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.t_ffn_norm = T_POST_ATTN_NORM,
};

ARCH_DECODER_ARCH(seed_oss, traits, sets)
