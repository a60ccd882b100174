/* SPDX-License-Identifier: MIT
 *
 * DBRX (model card databricks/dbrx-base): LayerNorm; clamped queries, keys and values. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_REQ(T_ATTN_OUT_NORM, T_ATTN_OUT_NORM),
	LMI_SET_MOE,
};

static const struct lmi_key_f32 floats[] = {
	{"attention.clamp_kqv", LMI_HP(clamp_qkv), LMI_REQUIRED, 0, 0, 1e9f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.t_ffn_norm = T_ATTN_OUT_NORM,
	.moe_gate = true,
};
LMI_DECODER_ARCH(dbrx, traits, sets)
