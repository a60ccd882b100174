/* SPDX-License-Identifier: MIT
 *
 * Qwen1.5-MoE and Qwen2-57B-A14B (arXiv 2407.10671): Qwen2 with experts and a shared expert with a
 * sigmoid gate; the router's weights are not renormalised. */
#include "arch/common/checkpoint.h"
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,    ARCH_SET_FFN_NORM,
	ARCH_SET_MOE,    ARCH_ROWS_REQ(T_FFN_GATE_INP_SHEXP, T_FFN_GATE_INP_SHEXP),
	ARCH_SET_SHEXP,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	if (!hp->n_ff_shexp) /* the oldest files do not have the key */
		hp->n_ff_shexp = hp->layer[0].n_ff;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].cls |= ARCH_L_SHEXP;
}

static bool lower_even_layer(int64_t il, int64_t n_max)
{
	return il % 2 == 0 && il < n_max;
}

static const struct lmd_checkpoint_row shared_rows[] = {
	{"layers.%d.mlp.shared_expert_gate", "blk.%d.ffn_gate_inp_shexp", {0}},
	{"layers.%d.mlp.shared_expert.gate_proj", "blk.%d.ffn_gate_shexp", {0}},
	{"layers.%d.mlp.shared_expert.up_proj", "blk.%d.ffn_up_shexp", {0}},
	{"layers.%d.mlp.shared_expert.down_proj", "blk.%d.ffn_down_shexp", {0}},
};

static void qwen2_moe(struct lmd_checkpoint *c)
{
	arch_ckpt_all_experts(c);
	arch_ckpt_put_windows(c, lower_even_layer);
	arch_ckpt_require_bool(c, "norm_topk_prob", false);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "qwen2_moe",
	 .arch = "qwen2moe",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_experts, ARCH_CKPT_ROWS(shared_rows),
		  &arch_ckpt_norms},
	 .keys = qwen2_moe},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.moe_gate = true,
	.adjust = adjust,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};
ARCH_DECODER_ARCH(qwen2moe, traits, sets)
