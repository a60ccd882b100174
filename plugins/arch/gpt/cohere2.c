/* SPDX-License-Identifier: MIT
 *
 * Command R7B and A (arXiv 2504.00698): Command R in which three of four layers have a window and
 * rotation, and the fourth has neither. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN,
};

static const struct lmi_key_f32 floats[] = {
	{"logit_scale", LMI_HP(logit_scale), LMI_REQUIRED, 1, 1e-6f, 1e6f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .window_period = 4},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.place = LMI_PARALLEL,
	.nope_full = true,
};

LMI_DECODER_ARCH(cohere2, traits, sets)
