/* SPDX-License-Identifier: MIT
 *
 * Nemotron-4 and Minitron (arXiv 2402.16819): LayerNorm, partial rotation, squared ReLU without a
 * gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_RELU2,
	.ffn_plain = true,
};

ARCH_DECODER_ARCH(nemotron, traits, sets)
