/* SPDX-License-Identifier: MIT
 *
 * MPT (model card mosaicml/mpt-7b): LayerNorm, ALiBi or learned positions; queries, keys and values
 * may be clamped. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
	LMI_OPT(T_POS_EMBD, T_POS_EMBD),
};

static const struct lmi_key_f32 floats[] = {
	{"attention.clamp_kqv", LMI_HP(clamp_qkv), LMI_OPTIONAL, 0, 0, 1e6f},
	{"attention.max_alibi_bias", LMI_HP(alibi_max), LMI_OPTIONAL, 0, 0, 1e3f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.pos_embd = true,
	.act = LMD_ACT_GELU,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(mpt, traits, sets)
