/* SPDX-License-Identifier: MIT
 *
 * Jais 2 (model card inceptionai/Jais-2-8B-Chat): LayerNorm, rotation, biases, squared ReLU without
 * a gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_RELU2,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(jais2, traits, sets)
