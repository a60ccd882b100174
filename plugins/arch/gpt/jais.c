/* SPDX-License-Identifier: MIT
 *
 * Jais (arXiv 2308.16149): LayerNorm, ALiBi, SwiGLU with biases; scores are divided by the head
 * size. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static const struct arch_key_f32 floats[] = {
	{"attention.max_alibi_bias", ARCH_HP(alibi_max), ARCH_OPTIONAL, 0, 0, 1e3f},
};

static void scale(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->attn_scale = 1.0f / (float)hp->layer[0].dk;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = scale,
};

ARCH_DECODER_ARCH(jais, traits, sets)
