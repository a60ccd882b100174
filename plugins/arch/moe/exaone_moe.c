/* SPDX-License-Identifier: MIT
 *
 * K-EXAONE (model card LGAI-EXAONE/K-EXAONE-236B-A23B): three of four layers have a window and
 * rotation, the fourth has neither; leading dense layers, then shared experts and a router
 * configured by the file.  Draft layers are not run. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM,
	LMI_SET_FFN_NORM, LMI_SET_FFN,       LMI_SET_MOE, LMI_SET_SHEXP,
	LMI_SET_ROPE_FREQS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .window_period = 4,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = LMI_QKN_HEAD,
	.nope_full = true,
};
LMI_DECODER_ARCH(exaone_moe, traits, sets)
