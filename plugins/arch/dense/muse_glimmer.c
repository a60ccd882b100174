/* SPDX-License-Identifier: MIT
 *
 * Muse Glimmer (architecture muse-glimmer): norms before and after the blocks, the latter with
 * their own epsilon; normalised embeddings, queries and keys; a sigmoid gate on the attention
 * result; a window in three of four layers, and rotation only in these. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_QK_NORM,
	ARCH_ROWS_REQ(T_ATTN_GATE, T_ATTN_GATE),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static const struct arch_key_f32 floats[] = {
	{"logit_scale", ARCH_HP(logit_scale), ARCH_REQUIRED, 1, 1e-6f, 1e6f},
	{"final_logit_softcapping", ARCH_HP(logit_softcap), ARCH_OPTIONAL, 0, 0, 1e6f},
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->eps_post = 1e-8f;
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, true);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 4},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.norm_placement = ARCH_NORM_SANDWICH,
	.embd_norm = ARCH_EMBD_NORM_BARE,
	.qk_norm = ARCH_QKN_HEAD,
	.gate = ARCH_GATE_SIGMOID,
	.nope_full = true,
	.adjust = adjust,
};

ARCH_DECODER_ARCH(muse_glimmer, traits, sets)
