/* SPDX-License-Identifier: MIT
 *
 * OpenELM (arXiv 2404.14619): heads and feed-forward width differ by layer; q, k and v are fused;
 * queries and keys are normalised. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = LMI_QKN_HEAD,
};

LMI_DECODER_ARCH(openelm, traits, sets)
