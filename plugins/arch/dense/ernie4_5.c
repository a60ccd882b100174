/* SPDX-License-Identifier: MIT
 *
 * ERNIE 4.5 (model card baidu/ERNIE-4.5-0.3B-PT): the LLaMA block.  Files may have a bias of the
 * output projection that the model does not use. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.out_bias_ignored = true,
};

LMI_DECODER_ARCH(ernie4_5, traits, sets)
