/* SPDX-License-Identifier: MIT
 *
 * Gemma 2 (arXiv 2408.00118): norms before and after the blocks, softcaps of scores and logits, a
 * window in every second layer. */
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
};

ARCH_DECODER_ARCH(gemma2, traits, sets)
