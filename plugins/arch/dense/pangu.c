/* SPDX-License-Identifier: MIT
 *
 * openPangu Embedded (arXiv 2505.22375): Qwen2 with an additional bias of the output projection.
 * Frequency factors in the file are ignored. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .no_rope_factors = true},
};

LMI_DECODER_ARCH(pangu, traits, sets)
