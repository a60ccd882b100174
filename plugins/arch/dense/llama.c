/* SPDX-License-Identifier: MIT
 *
 * LLaMA (arXiv 2302.13971) and models that use its architecture name: Llama 2 and 3, Mistral (arXiv
 * 2310.06825), Mixtral (arXiv 2401.04088), Yi, SOLAR, SmolLM2 and many others.  llama-embed is
 * LLaMA without the causal mask. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,          ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_ROPE_FACTORS, ARCH_SET_POOL,
};

/* All layers have the window; if the key is absent, that of the first Mistral model. */
static void mistral(struct lmd_checkpoint *c)
{
	arch_ckpt_put_folder_window(c, arch_ckpt_window_size(c, 4096), NULL);
}

/* Checkpoints. Mixtral: w1 gate, w2 down, w3 up. */
static const struct lmd_checkpoint_row mixtral_rows[] = {
	{"layers.%d.block_sparse_moe.gate", "blk.%d.ffn_gate_inp", {0}},
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

static void mixtral(struct lmd_checkpoint *c)
{
	arch_ckpt_put_folder_window(c, arch_ckpt_window_size(c, 0), NULL);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "llama",
	 .arch = "llama",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, &arch_ckpt_glu, &arch_ckpt_norms}},
	{.type = "mistral",
	 .arch = "llama",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, &arch_ckpt_glu, &arch_ckpt_norms},
	 .keys = mistral},
	{.type = "mixtral",
	 .arch = "llama",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn_adj, ARCH_CKPT_ROWS(mixtral_rows),
		  &arch_ckpt_norms},
	 .keys = mixtral},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.pool = {.rank_act = LMD_ACT_FN_TANH},
	.quant = {.flags = LMD_QUANT_V_GROUPED, .v_layers = 80},
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(llama, traits, sets)

static void no_mask(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->causal = false;
}

static const struct arch_decoder_traits embed_traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.adjust = no_mask,
};

ARCH_DECODER_ARCH(llama_embed, embed_traits, sets)
