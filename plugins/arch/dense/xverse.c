/* SPDX-License-Identifier: MIT
 *
 * XVERSE (model cards xverse/XVERSE-7B, -13B, -65B): the LLaMA block. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
};

ARCH_DECODER_ARCH(xverse, traits, sets)
