/* SPDX-License-Identifier: MIT
 *
 * GPT-2 (Radford et al., 2019): LayerNorm, learned positions, GELU without a gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
	LMI_REQ(T_POS_EMBD, T_POS_EMBD),
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.pos_embd = true,
	.act = LMD_ACT_GELU,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(gpt2, traits, sets)
