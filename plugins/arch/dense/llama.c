/* SPDX-License-Identifier: MIT
 *
 * LLaMA (arXiv 2302.13971) and models that use its architecture name: Llama 2 and 3, Mistral (arXiv
 * 2310.06825), Mixtral (arXiv 2401.04088), Yi, SOLAR, SmolLM2 and many others.  llama-embed is
 * LLaMA without the causal mask. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_ROPE_FACTORS, LMI_SET_POOL,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.pool = {.rank_act = LMD_ACT_TANH},
};

LMI_DECODER_ARCH(llama, traits, sets)

static void no_mask(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->causal = false;
}

static const struct lmi_decoder_traits embed_traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.adjust = no_mask,
};

LMI_DECODER_ARCH(llama_embed, embed_traits, sets)
