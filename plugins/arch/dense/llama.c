/* SPDX-License-Identifier: MIT
 *
 * LLaMA (arXiv 2302.13971) and models that use its architecture name: Llama 2 and 3, Mistral (arXiv
 * 2310.06825), Mixtral (arXiv 2401.04088), Yi, SOLAR, SmolLM2 and many others.  llama-embed is
 * LLaMA without the causal mask. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,          ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_ROPE_FACTORS, ARCH_SET_POOL,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.pool = {.rank_act = LMD_ACT_FN_TANH},
	.quant = {.flags = LMD_QUANT_V_GROUPED, .v_layers = 80},
};

ARCH_DECODER_ARCH(llama, traits, sets)

static void no_mask(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->causal = false;
}

static const struct arch_decoder_traits embed_traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.adjust = no_mask,
};

ARCH_DECODER_ARCH(llama_embed, embed_traits, sets)
