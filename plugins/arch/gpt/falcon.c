/* SPDX-License-Identifier: MIT
 *
 * Falcon (arXiv 2311.16867): both blocks share one LayerNorm and add to the same stream; the 40B
 * model has a separate norm for attention. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_ROWS_OPT(T_ATTN_NORM_2, T_ATTN_NORM_2),
	ARCH_SET_QKV,    ARCH_SET_FFN_PLAIN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_PARALLEL,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.quant = {.flags = LMD_QUANT_FIRST_DOWN},
};

ARCH_DECODER_ARCH(falcon, traits, sets)
