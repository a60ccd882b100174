/* SPDX-License-Identifier: MIT
 *
 * Granite 3 and 4, dense and with experts (model cards ibm-granite/granite-3.0-8b-base,
 * granite-3.0-3b-a800m-base): LLaMA with scaled embeddings, residuals, scores and logits; a shared
 * expert; image rows that are added before some layers (granite-vision-4.1). */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_SHEXP, LMI_SET_ROPE_FACTORS,
};

static void scales(struct lmi_hparams *hp, struct lmi_keys *k)
{
	bool rotates = lmi_key_bool(k, "rope.scaling.finetuned", LMI_OPTIONAL, true);

	lmi_granite_scales(hp, k);
	lmi_granite_deepstack(hp, k);
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.adjust = scales,
};

LMI_DECODER_ARCH(granite, traits, sets)
