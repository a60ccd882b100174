/* SPDX-License-Identifier: MIT
 *
 * EXAONE 3.x (arXiv 2408.03541, 2412.04862): the LLaMA block with NeoX-style rotation and frequency
 * factors. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_ROPE_FREQS,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
};

ARCH_DECODER_ARCH(exaone, traits, sets)
