/* SPDX-License-Identifier: MIT
 *
 * Arcee AFM (model card arcee-ai/AFM-4.5B-Base): LLaMA with a squared ReLU and no gate. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_SET_ROPE_FACTORS,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.act = LMD_ACT_FN_RELU2,
	.ffn_plain = true,
};

ARCH_DECODER_ARCH(arcee, traits, sets)
