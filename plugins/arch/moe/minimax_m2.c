/* SPDX-License-Identifier: MIT
 *
 * MiniMax-M2 (model card MiniMaxAI/MiniMax-M2): queries and keys are normalised over all heads
 * together; partial rotation; a sigmoid router with a selection bias.  Experts have the layer's
 * feed_forward_length; expert_feed_forward_length is ignored. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,      ARCH_ROWS_REQ(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	ARCH_SET_FFN_NORM, ARCH_SET_MOE,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->n_ff_exp = hp->layer[0].n_ff;
	hp->route_renorm = true;
	hp->route_scale = 1.0f;
}

/* Checkpoints. MiniMax M2: experts in every layer, norms over all queries and keys. */
static const struct lmd_checkpoint_row minimax_m2_rows[] = {
	{"layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm", {0}},
	{"layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm", {0}},
	{"layers.%d.block_sparse_moe.gate", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.block_sparse_moe.e_score_correction_bias",
	 "blk.%d.exp_probs_b.bias",
	 {.flags = LMD_CKPT_BARE_FROM | LMD_CKPT_BARE_TO}},
	{"layers.%d.block_sparse_moe.experts.%d.w1",
	 "blk.%d.ffn_gate_exps",
	 {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.block_sparse_moe.experts.%d.w3",
	 "blk.%d.ffn_up_exps",
	 {.stack = LMD_CKPT_EXPERTS}},
	{"layers.%d.block_sparse_moe.experts.%d.w2",
	 "blk.%d.ffn_down_exps",
	 {.stack = LMD_CKPT_EXPERTS}},
};

static void checkpoint_minimax_m2(struct lmd_checkpoint *c)
{
	c->put_u32(c, "expert_feed_forward_length",
		   c->need_int(c, "intermediate_size", 1, 1 << 24));
	c->put_u32(c, "expert_gating_func", ARCH_CKPT_SIGMOID);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "minimax_m2",
	 .arch = "minimax-m2",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, ARCH_CKPT_ROWS(minimax_m2_rows),
		  &arch_ckpt_norms},
	 .keys = checkpoint_minimax_m2},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_FULL,
	.moe_gate = true,
	.adjust = adjust,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(minimax_m2, traits, sets)
