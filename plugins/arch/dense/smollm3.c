/* SPDX-License-Identifier: MIT
 *
 * SmolLM3 (model card HuggingFaceTB/SmolLM3-3B): LLaMA without rotation in every fourth layer. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static void checkpoint_smollm3(struct lmd_checkpoint *c)
{
	arch_ckpt_check_nope(c, 4);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "smollm3",
	 .arch = "smollm3",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, &arch_ckpt_glu, &arch_ckpt_norms},
	 .keys = checkpoint_smollm3},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.nope_period = 4,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(smollm3, traits, sets)
