/* SPDX-License-Identifier: MIT
 *
 * Jais 2 (model card inceptionai/Jais-2-8B-Chat): LayerNorm, rotation, biases, squared ReLU without
 * a gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_RELU2,
	.ffn_plain = true,
	.quant = {.v_layers = 68},
};

ARCH_DECODER_ARCH(jais2, traits, sets)
