/* SPDX-License-Identifier: MIT
 *
 * FlexOlmo (arXiv 2507.07024): OLMo 2 with experts, which were trained apart from each other, in all
 * layers; the router's weights are not renormalised. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_MOE,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static void keys(struct lmd_checkpoint *c)
{
	arch_ckpt_require_bool(c, "norm_topk_prob", false);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "flex_olmo",
	 .arch = "flex-olmo",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_experts, &arch_ckpt_post_norms},
	 .keys = keys},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_POST,
	.qk_norm = ARCH_QKN_FULL,
	.moe_gate = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(flex_olmo, traits, sets)
