/* SPDX-License-Identifier: MIT
 *
 * Granite 4 (model card ibm-granite/granite-4.0-h-small): Mamba-2 layers, with attention in every
 * few; dense, or with routed experts and a shared one; scaled embeddings, residuals, scores and
 * logits. */
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_HYBRID_NORM, LMI_SET_MAMBA2, LMI_SET_QKV, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_MOE, LMI_SET_SHEXP, LMI_SET_ROPE_FACTORS,
};

static const struct lmi_key_f32 floats[] = {
	{"embedding_scale", LMI_HP(embd_scale), LMI_OPTIONAL, 0, 0, 1e6f},
	{"embedding_scale", LMI_HP(embd_scale_ext), LMI_OPTIONAL, 0, 0, 1e6f},
	{"residual_scale", LMI_HP(residual_scale), LMI_OPTIONAL, 0, 0, 1e6f},
	{"attention.scale", LMI_HP(attn_scale), LMI_OPTIONAL, 0, 0, 1e3f},
	{"logit_scale", LMI_HP(logit_scale), LMI_REQUIRED, 1, 1e-6f, 1e6f},
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	bool rotates = lmi_key_bool(k, "rope.scaling.finetuned", LMI_OPTIONAL, true);

	hp->logit_scale = 1.0f / hp->logit_scale; /* the file has a divisor */
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
	lmi_hybrid_mamba2(hp, k);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true,
	       .n_head_zero = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = adjust,
	.memory = lmi_hybrid_mamba2_memory,
	.mixer = lmi_hybrid_mamba2_mixer,
};

LMI_HYBRID_ARCH(granitehybrid, traits, sets)
