/* SPDX-License-Identifier: MIT
 *
 * ERNIE 4.5 (model card baidu/ERNIE-4.5-0.3B-PT): the LLaMA block.  Files may have a bias of the
 * output projection that the model does not use. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "ernie4_5",
	 .arch = "ernie4_5",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_norms}},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.out_bias_ignored = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(ernie4_5, traits, sets)
