/* SPDX-License-Identifier: MIT
 *
 * OLMo (arXiv 2402.00838): LLaMA with LayerNorm without weights; queries, keys and values may be
 * clamped. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_REQ(T_TOKEN_EMBD, T_TOKEN_EMBD), LMI_OPT(T_OUTPUT, T_OUTPUT), LMI_SET_QKV,
	LMI_SET_FFN,
};

static const struct lmi_key_f32 floats[] = {
	{"attention.clamp_kqv", LMI_HP(clamp_qkv), LMI_OPTIONAL, 0, 0, 1e6f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_ADJACENT},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.bare_norm = true,
};

LMI_DECODER_ARCH(olmo, traits, sets)
