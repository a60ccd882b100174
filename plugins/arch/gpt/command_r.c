/* SPDX-License-Identifier: MIT
 *
 * Command R and R+ (model cards CohereLabs/c4ai-command-r-v01, -plus): both blocks share one
 * LayerNorm without bias; R+ normalises queries and keys per head; logits are scaled. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_OPT(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH), LMI_SET_FFN,
};

static const struct lmi_key_f32 floats[] = {
	{"logit_scale", LMI_HP(logit_scale), LMI_OPTIONAL, 0, 0, 1e6f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_ADJACENT},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.place = LMI_PARALLEL,
	.qk_norm = LMI_QKN_EACH,
	.qk_norm_kind = LMD_NORM_LAYER,
};

LMI_DECODER_ARCH(command_r, traits, sets)
