/* SPDX-License-Identifier: MIT
 *
 * GPT-2 (Radford et al., 2019): LayerNorm, learned positions, GELU without a gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_ROWS_REQ(T_POS_EMBD, T_POS_EMBD),
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.pos_embd = true,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
};

ARCH_DECODER_ARCH(gpt2, traits, sets)
