/* SPDX-License-Identifier: MIT
 *
 * Granite 3 and 4, dense and with experts (model cards ibm-granite/granite-3.0-8b-base,
 * granite-3.0-3b-a800m-base): LLaMA with scaled embeddings, residuals, scores and logits; a shared
 * expert; image rows that are added before some layers (granite-vision-4.1). */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FACTORS,
};

static void scales(struct arch_hparams *hp, struct arch_keys *k)
{
	bool rotates = arch_key_bool(k, "rope.scaling.finetuned", ARCH_OPTIONAL, true);

	arch_granite_scales(hp, k);
	arch_granite_deepstack(hp, k);
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
}

static const struct lmd_checkpoint_row granitemoe_rows[] = {
	{"layers.%d.block_sparse_moe.router.layer", "blk.%d.ffn_gate_inp", {0}},
	{"layers.%d.block_sparse_moe.input_linear",
	 "blk.%d.ffn_gate_exps",
	 {.part = LMD_CKPT_FIRST_HALF}},
	{"layers.%d.block_sparse_moe.input_linear",
	 "blk.%d.ffn_up_exps",
	 {.part = LMD_CKPT_SECOND_HALF}},
	{"layers.%d.block_sparse_moe.output_linear", "blk.%d.ffn_down_exps", {0}},
};

static const struct lmd_checkpoint_row granite_shared[] = {
	{"layers.%d.shared_mlp.input_linear",
	 "blk.%d.ffn_gate_shexp",
	 {.part = LMD_CKPT_FIRST_HALF}},
	{"layers.%d.shared_mlp.input_linear",
	 "blk.%d.ffn_up_shexp",
	 {.part = LMD_CKPT_SECOND_HALF}},
	{"layers.%d.shared_mlp.output_linear", "blk.%d.ffn_down_shexp", {0}},
};

static void granite_moe_shared(struct lmd_checkpoint *c)
{
	arch_ckpt_put_granite(c);
	c->put_u32(c, "expert_shared_feed_forward_length",
		   c->need_int(c, "shared_intermediate_size", 1, 1 << 24));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "granite",
	 .arch = "granite",
	 .pretokenizer = "refact",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, &arch_ckpt_glu, &arch_ckpt_norms},
	 .keys = arch_ckpt_put_granite},
	{.type = "granitemoe",
	 .arch = "granitemoe",
	 .pretokenizer = "refact",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, ARCH_CKPT_ROWS(granitemoe_rows),
		  &arch_ckpt_norms},
	 .keys = arch_ckpt_put_granite},
	{.type = "granitemoeshared",
	 .arch = "granitemoe",
	 .pretokenizer = "refact",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, ARCH_CKPT_ROWS(granitemoe_rows),
		  ARCH_CKPT_ROWS(granite_shared), &arch_ckpt_norms},
	 .keys = granite_moe_shared},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.adjust = scales,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(granite, traits, sets)
