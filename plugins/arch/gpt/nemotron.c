/* SPDX-License-Identifier: MIT
 *
 * Nemotron-4 and Minitron (arXiv 2402.16819): LayerNorm, partial rotation, squared ReLU without a
 * gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_RELU2,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(nemotron, traits, sets)
