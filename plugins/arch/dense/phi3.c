/* SPDX-License-Identifier: MIT
 *
 * Phi-3 and Phi-4 mini (arXiv 2404.14219): q, k, v are fused, as are gate and up; one of two sets
 * of frequency factors is chosen by context length.  The window key of the files is not used. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_FUSED,
	LMI_SET_ROPE_FACTORS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.ffn_fused = true,
};

LMI_DECODER_ARCH(phi3, traits, sets)
