/* SPDX-License-Identifier: MIT
 *
 * Arcee AFM (model card arcee-ai/AFM-4.5B-Base): LLaMA with a squared ReLU and no gate. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
	LMI_SET_ROPE_FACTORS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.act = LMD_ACT_RELU2,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(arcee, traits, sets)
