/* SPDX-License-Identifier: MIT
 *
 * Falcon (arXiv 2311.16867): both blocks share one LayerNorm and add to the same stream; the 40B
 * model has a separate norm for attention. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_OPT(T_ATTN_NORM_2, T_ATTN_NORM_2), LMI_SET_QKV,
	LMI_SET_FFN_PLAIN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.place = LMI_PARALLEL,
	.act = LMD_ACT_GELU,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(falcon, traits, sets)
