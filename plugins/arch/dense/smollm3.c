/* SPDX-License-Identifier: MIT
 *
 * SmolLM3 (model card HuggingFaceTB/SmolLM3-3B): LLaMA without rotation in every fourth layer. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.nope_period = 4,
};

LMI_DECODER_ARCH(smollm3, traits, sets)
