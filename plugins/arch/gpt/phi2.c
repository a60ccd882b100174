/* SPDX-License-Identifier: MIT
 *
 * Phi-1.5 and Phi-2 (arXiv 2309.05463): both blocks share one LayerNorm; all matrices have biases,
 * including the output; partial rotation. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_PLAIN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.place = LMI_PARALLEL,
	.act = LMD_ACT_GELU,
	.ffn_plain = true,
};

LMI_DECODER_ARCH(phi2, traits, sets)
