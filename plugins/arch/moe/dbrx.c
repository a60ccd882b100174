/* SPDX-License-Identifier: MIT
 *
 * DBRX (model card databricks/dbrx-base): LayerNorm; clamped queries, keys and values. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,    ARCH_ROWS_REQ(T_ATTN_OUT_NORM, T_ATTN_OUT_NORM),
	ARCH_SET_MOE,
};

static const struct arch_key_f32 floats[] = {
	{"attention.clamp_kqv", ARCH_HP(clamp_qkv), ARCH_REQUIRED, 0, 0, 1e9f},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.t_ffn_norm = T_ATTN_OUT_NORM,
	.moe_gate = true,
};
ARCH_DECODER_ARCH(dbrx, traits, sets)
