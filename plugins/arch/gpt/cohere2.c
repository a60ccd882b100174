/* SPDX-License-Identifier: MIT
 *
 * Command R7B and A (arXiv 2504.00698): Command R in which three of four layers have a window and
 * rotation, and the fourth has neither. */
#include "arch/common/checkpoint.h"
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_FFN,
};

static const struct arch_key_f32 floats[] = {
	{"logit_scale", ARCH_HP(logit_scale), ARCH_REQUIRED, 1, 1e-6f, 1e6f},
};

static void checkpoint_cohere2(struct lmd_checkpoint *c)
{
	arch_cohere_ckpt_keys(c);
	arch_ckpt_put_window(c, 4);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "cohere2",
	 .arch = "cohere2",
	 .pretokenizer = "command-r",
	 .flags = LMD_CKPT_LAYER_NORM,
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_cohere_ckpt_rows},
	 .keys = checkpoint_cohere2},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 4},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.norm_placement = ARCH_NORM_PARALLEL,
	.nope_full = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(cohere2, traits, sets)
