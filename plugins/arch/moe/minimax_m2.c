/* SPDX-License-Identifier: MIT
 *
 * MiniMax-M2 (model card MiniMaxAI/MiniMax-M2): queries and keys are normalised over all heads
 * together; partial rotation; a sigmoid router with a selection bias.  Experts have the layer's
 * feed_forward_length; expert_feed_forward_length is ignored. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM,
	LMI_SET_QKV,      LMI_REQ(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	LMI_SET_FFN_NORM, LMI_SET_MOE,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->n_ff_exp = hp->layer[0].n_ff;
	hp->route_renorm = true;
	hp->route_scale = 1.0f;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = LMI_QKN_FULL,
	.moe_gate = true,
	.adjust = adjust,
};
LMI_DECODER_ARCH(minimax_m2, traits, sets)
