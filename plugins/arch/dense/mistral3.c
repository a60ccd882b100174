/* SPDX-License-Identifier: MIT
 *
 * Mistral Small 3.x, Ministral 3 (model cards mistralai/Mistral-Small-3.1-24B, Ministral-3-8B): the
 * LLaMA block; queries beyond the original context are scaled by the logarithm of the position. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_ROPE_FACTORS,
};

static const struct lmi_key_f32 floats[] = {
	{"attention.temperature_scale", LMI_HP(temp_scale), LMI_OPTIONAL, 0, 0, 1e3f},
};

static void temperature(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->temp_len = hp->rope[LMI_ROPE_FULL].n_ctx_orig;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true,
	       .yarn_log = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = temperature,
};

LMI_DECODER_ARCH(mistral3, traits, sets)
