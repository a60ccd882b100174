/* SPDX-License-Identifier: MIT
 *
 * EXAONE 3.x (arXiv 2408.03541, 2412.04862): the LLaMA block with NeoX-style rotation and frequency
 * factors. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
	LMI_SET_ROPE_FREQS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
};

LMI_DECODER_ARCH(exaone, traits, sets)
