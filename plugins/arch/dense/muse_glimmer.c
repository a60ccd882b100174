/* SPDX-License-Identifier: MIT
 *
 * Muse Glimmer (architecture muse-glimmer): norms before and after the blocks, the latter with
 * their own epsilon; normalised embeddings, queries and keys; a sigmoid gate on the attention
 * result; a window in three of four layers, and rotation only in these. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM,
	LMI_REQ(T_ATTN_GATE, T_ATTN_GATE), LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static const struct lmi_key_f32 floats[] = {
	{"logit_scale", LMI_HP(logit_scale), LMI_REQUIRED, 1, 1e-6f, 1e6f},
	{"final_logit_softcapping", LMI_HP(logit_softcap), LMI_OPTIONAL, 0, 0, 1e6f},
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->eps_post = 1e-8f;
	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, true);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .window_period = 4},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.place = LMI_SANDWICH,
	.embd_norm = LMI_EMBD_NORM_BARE,
	.qk_norm = LMI_QKN_HEAD,
	.gate = LMI_GATE_SIGMOID,
	.nope_full = true,
	.adjust = adjust,
};

LMI_DECODER_ARCH(muse_glimmer, traits, sets)
