/* SPDX-License-Identifier: MIT
 *
 * Phi-3 and Phi-4 mini (arXiv 2404.14219): q, k, v are fused, as are gate and up; one of two sets
 * of frequency factors is chosen by context length.  The window key of the files is not used. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_FUSED, ARCH_SET_ROPE_FACTORS,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.ffn_fused = true,
};

ARCH_DECODER_ARCH(phi3, traits, sets)
