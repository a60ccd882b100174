/* SPDX-License-Identifier: MIT
 *
 * Gemma 2 (arXiv 2408.00118): norms before and after the blocks, softcaps of scores and logits, a
 * window in every second layer. */
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static const struct lmi_key_f32 floats[] = {
	{"attn_logit_softcapping", LMI_HP(attn_softcap), LMI_OPTIONAL, 50, 0, 1e6f},
	{"final_logit_softcapping", LMI_HP(logit_softcap), LMI_OPTIONAL, 30, 0, 1e6f},
};

#define N_LAYER_27B 46

static void scale(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_gemma_embedding(hp, 0.0f);
	lmi_gemma_attn_scale(hp, N_LAYER_27B);
	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, false);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_default = 4096,
	       .window_period = 2},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.place = LMI_SANDWICH,
	.act = LMD_ACT_GELU,
	.adjust = scale,
};

LMI_DECODER_ARCH(gemma2, traits, sets)
