/* SPDX-License-Identifier: MIT
 *
 * MPT (model card mosaicml/mpt-7b): LayerNorm, ALiBi or learned positions; queries, keys and values
 * may be clamped. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_ROWS_OPT(T_POS_EMBD, T_POS_EMBD),
};

static const struct arch_key_f32 floats[] = {
	{"attention.clamp_kqv", ARCH_HP(clamp_qkv), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"attention.max_alibi_bias", ARCH_HP(alibi_max), ARCH_OPTIONAL, 0, 0, 1e3f},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.pos_embd = true,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
};

ARCH_DECODER_ARCH(mpt, traits, sets)
