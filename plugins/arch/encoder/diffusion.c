/* SPDX-License-Identifier: MIT
 *
 * Diffusion language models: layers of known decoders without the causal mask, and logits for all
 * rows at once.  LLaDA (arXiv 2502.09992), LLaDA-MoE, Dream (arXiv 2508.15487), RND1. */
#include "arch/common/decoder.h"
#include "arch/encoder/encoder.h"

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->causal = false;
}

static void diffusion(struct lmi_hparams *hp, struct lmd_arch_desc *out)
{
	(void)hp;
	out->driver = LMD_DRIVER_DIFFUSION;
}

static const struct lmd_tensor_set dense_sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
	LMI_SET_ROPE_FREQS,
};
static const struct lmd_tensor_set moe_sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_MOE,
};

static const struct lmi_decoder_traits dream = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = adjust,
	.describe = diffusion,
};
LMI_DECODER_ARCH(dream, dream, dense_sets)

static const struct lmi_decoder_traits llada = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .no_rope_factors = true},
	.adjust = adjust,
	.describe = diffusion,
};
LMI_DECODER_ARCH(llada, llada, dense_sets)

static const struct lmi_decoder_traits llada_moe = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = adjust,
	.describe = diffusion,
};
LMI_DECODER_ARCH(llada_moe, llada_moe, moe_sets)

static const struct lmi_decoder_traits rnd1 = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_renorm = true},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = adjust,
	.describe = diffusion,
};
LMI_DECODER_ARCH(rnd1, rnd1, moe_sets)
