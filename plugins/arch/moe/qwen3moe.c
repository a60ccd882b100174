/* SPDX-License-Identifier: MIT
 *
 * Qwen3 with experts (arXiv 2505.09388): queries and keys are normalised per head; the chosen
 * weights are divided by their sum.  qwen3vlmoe is the text model of Qwen3-VL (arXiv 2511.21631):
 * interleaved M-RoPE, and image rows with more columns that are added after the first layers. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM,
	LMI_SET_FFN_NORM, LMI_SET_MOE, LMI_SET_POOL,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.qk_norm = LMI_QKN_HEAD,
	.moe_gate = true,
	.adjust = lmi_moe_split_ff,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_TANH},
};
LMI_DECODER_ARCH(qwen3moe, traits, sets)

static void pictures(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_moe_split_ff(hp, k);
	lmi_hp_deepstack(hp, k);
}

static const struct lmi_decoder_traits vl_traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_INTERLEAVED,
	       .sections_required = true,
	       .route_renorm = true},
	.qk_norm = LMI_QKN_HEAD,
	.moe_gate = true,
	.adjust = pictures,
	.pool = {.rank_last = true, .rank_softmax = true, .rank_act = LMD_ACT_TANH},
};
LMI_DECODER_ARCH(qwen3vlmoe, vl_traits, sets)
