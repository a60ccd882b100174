/* SPDX-License-Identifier: MIT
 *
 * XVERSE (model cards xverse/XVERSE-7B, -13B, -65B): the LLaMA block. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
};

LMI_DECODER_ARCH(xverse, traits, sets)
