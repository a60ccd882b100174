/* SPDX-License-Identifier: MIT
 *
 * PaddleOCR-VL (arXiv 2510.14528): the text model of ERNIE 4.5 with M-RoPE. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_BLOCKS,
	       .sections_required = true},
	.out_bias_ignored = true,
};

ARCH_DECODER_ARCH(paddleocr, traits, sets)
