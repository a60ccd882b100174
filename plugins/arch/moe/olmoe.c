/* SPDX-License-Identifier: MIT
 *
 * OLMoE (arXiv 2409.02060): queries and keys are normalised over all heads together; the router's
 * weights are not renormalised. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,      ARCH_ROWS_REQ(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	ARCH_SET_FFN_NORM, ARCH_SET_MOE,
};

static void checkpoint_olmoe(struct lmd_checkpoint *c)
{
	arch_ckpt_require_bool(c, "norm_topk_prob", false);
	if (c->has(c, "clip_qkv"))
		c->fail(c, LMD_UNSUPPORTED,
			"\"clip_qkv\": architecture olmoe does not clamp "
			"queries, keys and values");
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "olmoe",
	 .arch = "olmoe",
	 .pretokenizer = "olmo",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_experts, &arch_ckpt_qk_norms},
	 .keys = checkpoint_olmoe},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = ARCH_QKN_FULL,
	.moe_gate = true,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(olmoe, traits, sets)
