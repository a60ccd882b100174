/* SPDX-License-Identifier: MIT
 *
 * StarCoder (arXiv 2305.06161): GPT-2 with multi-query attention. */
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

LMI_DECODER_ARCH(starcoder, traits, sets)
