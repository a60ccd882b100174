/* SPDX-License-Identifier: MIT
 *
 * Gemma (arXiv 2403.08295): GeGLU, embeddings scaled by sqrt(n_embd), wide heads. */
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static void scale(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	arch_gemma_embedding_scale(hp, 0.0f);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_GELU,
	.adjust = scale,
};

ARCH_DECODER_ARCH(gemma, traits, sets)
