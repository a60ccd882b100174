/* SPDX-License-Identifier: MIT
 *
 * Phi-1.5 and Phi-2 (arXiv 2309.05463): both blocks share one LayerNorm; all matrices have biases,
 * including the output; partial rotation. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_FFN_PLAIN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_PARALLEL,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
};

ARCH_DECODER_ARCH(phi2, traits, sets)
