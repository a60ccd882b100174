/* SPDX-License-Identifier: MIT
 *
 * Text model of HunyuanOCR and Hunyuan-VL (arXiv 2511.19575): Hunyuan dense with M-RoPE. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_ROPE_FREQS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_BLOCKS},
	.qk_norm = LMI_QKN_HEAD,
	.qk_norm_after = true,
	.adjust = lmi_hunyuan_alpha,
};

LMI_DECODER_ARCH(hunyuan_vl, traits, sets)
