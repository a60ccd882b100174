/* SPDX-License-Identifier: MIT
 *
 * ChatGLM 3 and GLM-4-9B (arXiv 2406.12793): q, k and v have biases; partial rotation; gate and up
 * are fused. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_FUSED,
	LMI_SET_ROPE_FREQS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.ffn_fused = true,
};

LMI_DECODER_ARCH(chatglm, traits, sets)
