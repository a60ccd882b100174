/* SPDX-License-Identifier: MIT
 *
 * InternLM2 (arXiv 2403.17297): the LLaMA block. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
	LMI_SET_ROPE_FACTORS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
};

LMI_DECODER_ARCH(internlm2, traits, sets)
