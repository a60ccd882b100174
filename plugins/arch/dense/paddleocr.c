/* SPDX-License-Identifier: MIT
 *
 * PaddleOCR-VL (arXiv 2510.14528): the text model of ERNIE 4.5 with M-RoPE. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_BLOCKS,
	       .sections_required = true},
	.out_bias_ignored = true,
};

LMI_DECODER_ARCH(paddleocr, traits, sets)
