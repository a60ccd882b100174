/* SPDX-License-Identifier: MIT
 *
 * Gemma 3 (arXiv 2503.19786): Gemma 2 with normalised queries and keys instead of the softcap of
 * scores; five of six layers have a window and their own rotation without context scaling. */
#include "arch/common/checkpoint.h"
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_QK_NORM,
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	ARCH_SET_POOL,
};

static const struct arch_key_f32 floats[] = {
	{"final_logit_softcapping", ARCH_HP(logit_softcap), ARCH_OPTIONAL, 0, 0, 1e6f},
};

#define N_LAYER_27B 62
#define WINDOW_BASE 10000.0

static void scale(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_gemma_embedding_scale(hp, 1.0f); /* image rows are already scaled */
	arch_gemma_attn_scale(hp, N_LAYER_27B);
	arch_hp_rope_window(hp, k, WINDOW_BASE, true);
}

static void checkpoint_gemma3(struct lmd_checkpoint *c)
{
	double base = c->get_float(
		c, "rope_parameters.sliding_attention.rope_theta|rope_local_base_freq", 10000);

	arch_gemma_ckpt_tied(c);
	arch_gemma_ckpt_check_scale(c, 62);
	arch_ckpt_put_window(c, 6);
	if (base != 10000)
		c->put_f32(c, "rope.freq_base_swa", base);
	if (c->has(c, "final_logit_softcapping"))
		c->put_f32(c, "final_logit_softcapping",
			   c->get_float(c, "final_logit_softcapping", 0));
	if (c->has(c, "attn_logit_softcapping"))
		c->fail(c, LMD_UNSUPPORTED,
			"\"attn_logit_softcapping\": architecture gemma3 "
			"does not cap attention scores");
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "gemma3_text",
	 .arch = "gemma3",
	 .rows = {&arch_gemma_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_gemma_ckpt_norms},
	 .keys = checkpoint_gemma3},
	/* The text model of a vision model. */
	{.type = "gemma3",
	 .arch = "gemma3",
	 .rows = {&arch_gemma_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_gemma_ckpt_norms},
	 .keys = checkpoint_gemma3},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 6},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.norm_placement = ARCH_NORM_SANDWICH,
	.qk_norm = ARCH_QKN_HEAD,
	.act = LMD_ACT_FN_GELU,
	.adjust = scale,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(gemma3, traits, sets)
