/* SPDX-License-Identifier: MIT
 *
 * Command R and R+ (model cards CohereLabs/c4ai-command-r-v01, -plus): both blocks share one
 * LayerNorm without bias; R+ normalises queries and keys per head; logits are scaled. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,    ARCH_ROWS_OPT(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH),
	ARCH_SET_FFN,
};

static const struct arch_key_f32 floats[] = {
	{"logit_scale", ARCH_HP(logit_scale), ARCH_OPTIONAL, 0, 0, 1e6f},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_ADJACENT},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.norm_placement = ARCH_NORM_PARALLEL,
	.qk_norm = ARCH_QKN_HEAD_OWN,
	.qk_norm_kind = LMD_NORM_LAYER,
};

ARCH_DECODER_ARCH(command_r, traits, sets)
