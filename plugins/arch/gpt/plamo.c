/* SPDX-License-Identifier: MIT
 *
 * PLaMo (model card pfnet/plamo-13b): both blocks share one norm; the query heads that share a key
 * head are adjacent. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_PARALLEL,
};

ARCH_DECODER_ARCH(plamo, traits, sets)
