/* SPDX-License-Identifier: MIT
 *
 * OLMo (arXiv 2402.00838): LLaMA with LayerNorm without weights; queries, keys and values may be
 * clamped. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_ROWS_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD),
	ARCH_ROWS_OPT(T_OUTPUT, T_OUTPUT),
	ARCH_SET_QKV,
	ARCH_SET_FFN,
};

static const struct arch_key_f32 floats[] = {
	{"attention.clamp_kqv", ARCH_HP(clamp_qkv), ARCH_OPTIONAL, 0, 0, 1e6f},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_ADJACENT},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.bare_norm = true,
};

ARCH_DECODER_ARCH(olmo, traits, sets)
