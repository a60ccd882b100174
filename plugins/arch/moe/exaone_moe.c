/* SPDX-License-Identifier: MIT
 *
 * K-EXAONE (model card LGAI-EXAONE/K-EXAONE-236B-A23B): three of four layers have a window and
 * rotation, the fourth has neither; leading dense layers, then shared experts and a router
 * configured by the file. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_QK_NORM,    ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FREQS,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 4,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
	.nope_full = true,
};
ARCH_DECODER_ARCH(exaone_moe, traits, sets)
