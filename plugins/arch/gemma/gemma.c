/* SPDX-License-Identifier: MIT
 *
 * Gemma (arXiv 2403.08295): GeGLU, embeddings scaled by sqrt(n_embd), wide heads. */
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static void scale(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	lmi_gemma_embedding(hp, 0.0f);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_GELU,
	.adjust = scale,
};

LMI_DECODER_ARCH(gemma, traits, sets)
