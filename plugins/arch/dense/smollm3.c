/* SPDX-License-Identifier: MIT
 *
 * SmolLM3 (model card HuggingFaceTB/SmolLM3-3B): LLaMA without rotation in every fourth layer. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.nope_period = 4,
};

ARCH_DECODER_ARCH(smollm3, traits, sets)
