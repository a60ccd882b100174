/* SPDX-License-Identifier: MIT
 *
 * Jais (arXiv 2308.16149): LayerNorm, ALiBi, SwiGLU with biases; scores are divided by the head
 * size. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static const struct lmi_key_f32 floats[] = {
	{"attention.max_alibi_bias", LMI_HP(alibi_max), LMI_OPTIONAL, 0, 0, 1e3f},
};

static void scale(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->attn_scale = 1.0f / (float)hp->layer[0].dk;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = scale,
};

LMI_DECODER_ARCH(jais, traits, sets)
