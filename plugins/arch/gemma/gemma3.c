/* SPDX-License-Identifier: MIT
 *
 * Gemma 3 (arXiv 2503.19786): Gemma 2 with normalised queries and keys instead of the softcap of
 * scores; five of six layers have a window and their own rotation without context scaling. */
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM,
	LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM), LMI_SET_POOL,
};

static const struct lmi_key_f32 floats[] = {
	{"final_logit_softcapping", LMI_HP(logit_softcap), LMI_OPTIONAL, 0, 0, 1e6f},
};

#define N_LAYER_27B 62
#define WINDOW_BASE 10000.0

static void scale(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_gemma_embedding(hp, 1.0f); /* image rows are already scaled */
	lmi_gemma_attn_scale(hp, N_LAYER_27B);
	lmi_hp_rope_window(hp, k, WINDOW_BASE, true);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 6},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.place = LMI_SANDWICH,
	.qk_norm = LMI_QKN_HEAD,
	.act = LMD_ACT_GELU,
	.adjust = scale,
};

LMI_DECODER_ARCH(gemma3, traits, sets)
