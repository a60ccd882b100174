/* SPDX-License-Identifier: MIT
 *
 * Backbone of Pocket TTS (arXiv 2509.06926): LayerNorm, rotation, GELU without a gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_ADJACENT},
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
};

ARCH_DECODER_ARCH(pockettts, traits, sets)
