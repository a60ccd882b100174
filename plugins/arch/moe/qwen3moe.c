/* SPDX-License-Identifier: MIT
 *
 * Qwen3 with experts (arXiv 2505.09388): queries and keys are normalised per head; the chosen
 * weights are divided by their sum.  qwen3vlmoe is the text model of Qwen3-VL (arXiv 2511.21631):
 * interleaved M-RoPE, and image rows with more columns that are added after the first layers. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,  ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_MOE,       ARCH_SET_POOL,
};

static void qwen3_moe(struct lmd_checkpoint *c)
{
	arch_ckpt_all_experts(c);
	if (c->get_bool(c, "use_sliding_window", false))
		arch_ckpt_put_folder_window(c, arch_ckpt_window_size(c, 4096), NULL);
	arch_ckpt_require_bool(c, "norm_topk_prob", true);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "qwen3_moe",
	 .arch = "qwen3moe",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_experts, &arch_ckpt_qk_norms},
	 .keys = qwen3_moe},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.qk_norm = ARCH_QKN_HEAD,
	.moe_gate = true,
	.adjust = arch_moe_split_ff,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_FN_TANH},
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(qwen3moe, traits, sets)

static void pictures(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_moe_split_ff(hp, k);
	arch_hp_deepstack(hp, k);
}

static const struct arch_decoder_traits vl_traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_INTERLEAVED,
	       .sections_required = true,
	       .route_renorm = true},
	.qk_norm = ARCH_QKN_HEAD,
	.moe_gate = true,
	.adjust = pictures,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_FN_TANH},
};
ARCH_DECODER_ARCH(qwen3vlmoe, vl_traits, sets)
