/* SPDX-License-Identifier: MIT
 *
 * Granite 3 and 4, dense and with experts (model cards ibm-granite/granite-3.0-8b-base,
 * granite-3.0-3b-a800m-base): LLaMA with scaled embeddings, residuals, scores and logits; a shared
 * expert; image rows that are added before some layers (granite-vision-4.1). */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FACTORS,
};

static void scales(struct arch_hparams *hp, struct arch_keys *k)
{
	bool rotates = arch_key_bool(k, "rope.scaling.finetuned", ARCH_OPTIONAL, true);

	arch_granite_scales(hp, k);
	arch_granite_deepstack(hp, k);
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.adjust = scales,
};

ARCH_DECODER_ARCH(granite, traits, sets)
