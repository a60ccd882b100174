/* SPDX-License-Identifier: MIT
 *
 * Mistral Small 3.x, Ministral 3 (model cards mistralai/Mistral-Small-3.1-24B, Ministral-3-8B): the
 * LLaMA block; queries beyond the original context are scaled by the logarithm of the position. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,          ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_ROPE_FACTORS,
};

static const struct arch_key_f32 floats[] = {
	{"attention.temperature_scale", ARCH_HP(attn_temp_scale), ARCH_OPTIONAL, 0, 0, 1e3f},
};

static void temperature(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->attn_temp_len = hp->rope[ARCH_ROPE_FULL].n_ctx_orig;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_renorm = true,
	       .yarn_log = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = temperature,
};

ARCH_DECODER_ARCH(mistral3, traits, sets)
