/* SPDX-License-Identifier: MIT
 *
 * Text model of HunyuanOCR and Hunyuan-VL (arXiv 2511.19575): Hunyuan dense with M-RoPE. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,        ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_ROPE_FREQS,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_BLOCKS},
	.qk_norm = ARCH_QKN_HEAD,
	.qk_norm_after = true,
	.adjust = arch_hunyuan_alpha,
};

ARCH_DECODER_ARCH(hunyuan_vl, traits, sets)
