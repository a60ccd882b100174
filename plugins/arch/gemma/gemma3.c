/* SPDX-License-Identifier: MIT
 *
 * Gemma 3 (arXiv 2503.19786): Gemma 2 with normalised queries and keys instead of the softcap of
 * scores; five of six layers have a window and their own rotation without context scaling. */
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
};

ARCH_DECODER_ARCH(gemma3, traits, sets)
