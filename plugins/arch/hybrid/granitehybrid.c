/* SPDX-License-Identifier: MIT
 *
 * Granite 4 (model card ibm-granite/granite-4.0-h-small): Mamba-2 layers, with attention in every
 * few; dense, or with routed experts and a shared one; scaled embeddings, residuals, scores and
 * logits. */
#include "arch/common/checkpoint.h"
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_HYBRID_NORM, ARCH_SET_MAMBA2,
	ARCH_SET_QKV,    ARCH_SET_FFN_NORM,    ARCH_SET_FFN,
	ARCH_SET_MOE,    ARCH_SET_SHEXP,       ARCH_SET_ROPE_FACTORS,
};

static const struct arch_key_f32 floats[] = {
	{"embedding_scale", ARCH_HP(embd_scale), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"embedding_scale", ARCH_HP(embd_scale_ext), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"residual_scale", ARCH_HP(residual_scale), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"attention.scale", ARCH_HP(attn_scale), ARCH_OPTIONAL, 0, 0, 1e3f},
	{"logit_scale", ARCH_HP(logit_scale), ARCH_REQUIRED, 1, 1e-6f, 1e6f},
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	bool rotates = arch_key_bool(k, "rope.scaling.finetuned", ARCH_OPTIONAL, true);

	hp->logit_scale = 1.0f / hp->logit_scale; /* the file has a divisor */
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
	arch_hybrid_mamba2(hp, k);
}

/* Checkpoints. Granite 4: Mamba-2 and attention; experts with a shared one, or the shared one alone. */
static const struct lmd_checkpoint_row granite_rows[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {0}},
	{"layers.%d.post_attention_layernorm", "blk.%d.ffn_norm", {0}},
	{"layers.%d.self_attn.q_proj",
	 "blk.%d.attn_q",
	 {.layers = LMD_CKPT_IN_ATTN, .op = LMD_CKPT_ROPE_Q}},
	{"layers.%d.self_attn.k_proj",
	 "blk.%d.attn_k",
	 {.layers = LMD_CKPT_IN_ATTN, .op = LMD_CKPT_ROPE_K}},
	{"layers.%d.self_attn.v_proj", "blk.%d.attn_v", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.self_attn.o_proj", "blk.%d.attn_output", {.layers = LMD_CKPT_IN_ATTN}},
	{"layers.%d.block_sparse_moe.router.layer",
	 "blk.%d.ffn_gate_inp",
	 {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.block_sparse_moe.input_linear",
	 "blk.%d.ffn_gate_exps",
	 {.layers = LMD_CKPT_IN_MOE, .part = LMD_CKPT_FIRST_HALF}},
	{"layers.%d.block_sparse_moe.input_linear",
	 "blk.%d.ffn_up_exps",
	 {.layers = LMD_CKPT_IN_MOE, .part = LMD_CKPT_SECOND_HALF}},
	{"layers.%d.block_sparse_moe.output_linear",
	 "blk.%d.ffn_down_exps",
	 {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.shared_mlp.input_linear",
	 "blk.%d.ffn_gate_shexp",
	 {.layers = LMD_CKPT_IN_MOE, .part = LMD_CKPT_FIRST_HALF}},
	{"layers.%d.shared_mlp.input_linear",
	 "blk.%d.ffn_up_shexp",
	 {.layers = LMD_CKPT_IN_MOE, .part = LMD_CKPT_SECOND_HALF}},
	{"layers.%d.shared_mlp.output_linear",
	 "blk.%d.ffn_down_shexp",
	 {.layers = LMD_CKPT_IN_MOE}},
	{"layers.%d.shared_mlp.input_linear",
	 "blk.%d.ffn_gate",
	 {.layers = LMD_CKPT_IN_DENSE, .part = LMD_CKPT_FIRST_HALF}},
	{"layers.%d.shared_mlp.input_linear",
	 "blk.%d.ffn_up",
	 {.layers = LMD_CKPT_IN_DENSE, .part = LMD_CKPT_SECOND_HALF}},
	{"layers.%d.shared_mlp.output_linear", "blk.%d.ffn_down", {.layers = LMD_CKPT_IN_DENSE}},
};

static const struct lmd_checkpoint_row granite_mixer[] = {ARCH_CKPT_MAMBA2("layers.%d.mamba.")};

static void granite_layers(struct lmd_checkpoint *c)
{
	arch_ckpt_mixer_layers(c);
	for (uint32_t i = 0; c->layers && i < c->n_layer; i++)
		c->layers[i] |= (uint8_t)(c->n_expert ? LMD_CKPT_LAYER_MOE : 0);
}

/* In models without experts the shared expert is the dense block. */
static int64_t granite_width(struct lmd_checkpoint *c, int64_t n)
{
	return c->n_expert ? n : c->need_int(c, "shared_intermediate_size", 1, 1 << 24);
}

static void granite_hybrid(struct lmd_checkpoint *c)
{
	int64_t heads = c->need_int(c, "mamba_n_heads", 1, 1 << 16);
	int64_t expand = c->get_int(c, "mamba_expand", 2, 1, 64);

	arch_ckpt_put_granite(c);
	c->put_bool(c, "rope.scaling.finetuned", c->is_text(c, "position_embedding_type", "rope"));
	arch_ckpt_put_ssm(c, "mamba_d_conv", expand * c->n_embd, "mamba_d_state", heads);
	arch_ckpt_put_groups(c, "mamba_n_groups");
	if (c->n_expert)
		c->put_u32(c, "expert_shared_feed_forward_length",
			   c->need_int(c, "shared_intermediate_size", 1, 1 << 24));
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "granitemoehybrid",
	 .arch = "granitehybrid",
	 .flags = LMD_CKPT_KV_PER_LAYER,
	 .rows = {&arch_ckpt_head, ARCH_CKPT_ROWS(granite_rows), ARCH_CKPT_ROWS(granite_mixer)},
	 .layers = granite_layers,
	 .n_ff = granite_width,
	 .keys = granite_hybrid},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_renorm = true,
	       .n_head_zero = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = adjust,
	.memory = arch_hybrid_mamba2_memory,
	.mixer = arch_hybrid_mamba2_mixer,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_HYBRID_ARCH(granitehybrid, traits, sets)
