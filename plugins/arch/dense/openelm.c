/* SPDX-License-Identifier: MIT
 *
 * OpenELM (arXiv 2404.14619): heads and feed-forward width differ by layer; q, k and v are fused;
 * queries and keys are normalised. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,  ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_QK_NORM, ARCH_SET_FFN_NORM,  ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = ARCH_QKN_HEAD,
};

ARCH_DECODER_ARCH(openelm, traits, sets)
