/* SPDX-License-Identifier: MIT
 *
 * CodeShell (arXiv 2403.15747): LayerNorm, rotation, biases, GELU without a gate.  If the file has
 * no token embedding, the output matrix is used. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_OPT(T_TOKEN_EMBD, T_TOKEN_EMBD), LMI_REQ(T_OUTPUT_NORM, T_OUTPUT), LMI_SET_ATTN_NORM,
	LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_GELU,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(codeshell, traits, sets)
