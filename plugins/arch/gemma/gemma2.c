/* SPDX-License-Identifier: MIT
 *
 * Gemma 2 (arXiv 2408.00118): norms before and after the blocks, softcaps of scores and logits, a
 * window in every second layer. */
#include "arch/common/checkpoint.h"
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static const struct arch_key_f32 floats[] = {
	{"attn_logit_softcapping", ARCH_HP(attn_softcap), ARCH_OPTIONAL, 50, 0, 1e6f},
	{"final_logit_softcapping", ARCH_HP(logit_softcap), ARCH_OPTIONAL, 30, 0, 1e6f},
};

#define N_LAYER_27B 46

static void scale(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_gemma_embedding_scale(hp, 0.0f);
	arch_gemma_attn_scale(hp, N_LAYER_27B);
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
}

/* Attention scores are scaled by the head width, except in the largest models (recognised by their
 * number of layers), which use n_embd / n_head. */
void arch_gemma_ckpt_check_scale(struct lmd_checkpoint *c, uint32_t n_layer_large)
{
	double expected =
		c->n_layer == n_layer_large ? (double)(c->n_embd / c->n_head) : c->head_dim;

	arch_ckpt_require_value(c, "query_pre_attn_scalar", expected);
}

static const struct lmd_checkpoint_row gemma2_norms[] = {
	{"layers.%d.input_layernorm", "blk.%d.attn_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.post_attention_layernorm",
	 "blk.%d.post_attention_norm",
	 {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.pre_feedforward_layernorm", "blk.%d.ffn_norm", {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.post_feedforward_layernorm",
	 "blk.%d.post_ffw_norm",
	 {.values = LMD_CKPT_PLUS_ONE}},
	{"layers.%d.self_attn.q_norm",
	 "blk.%d.attn_q_norm",
	 {.values = LMD_CKPT_PLUS_ONE, .flags = LMD_CKPT_OPTIONAL}},
	{"layers.%d.self_attn.k_norm",
	 "blk.%d.attn_k_norm",
	 {.values = LMD_CKPT_PLUS_ONE, .flags = LMD_CKPT_OPTIONAL}},
};

const struct lmd_checkpoint_rows arch_gemma_ckpt_norms = {gemma2_norms, LMD_LEN(gemma2_norms), 0};

static void checkpoint_gemma2(struct lmd_checkpoint *c)
{
	arch_gemma_ckpt_tied(c);
	arch_gemma_ckpt_check_scale(c, 46);
	c->put_f32(c, "attn_logit_softcapping", c->get_float(c, "attn_logit_softcapping", 0));
	c->put_f32(c, "final_logit_softcapping", c->get_float(c, "final_logit_softcapping", 0));
	arch_ckpt_put_window(c, 2);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "gemma2",
	 .arch = "gemma2",
	 .rows = {&arch_gemma_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_gemma_ckpt_norms},
	 .keys = checkpoint_gemma2},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_default = 4096,
	       .window_period = 2},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.norm_placement = ARCH_NORM_SANDWICH,
	.act = LMD_ACT_FN_GELU,
	.adjust = scale,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(gemma2, traits, sets)
