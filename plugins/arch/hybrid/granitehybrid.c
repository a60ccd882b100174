/* SPDX-License-Identifier: MIT
 *
 * Granite 4 (model card ibm-granite/granite-4.0-h-small): Mamba-2 layers, with attention in every
 * few; dense, or with routed experts and a shared one; scaled embeddings, residuals, scores and
 * logits. */
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_HYBRID_NORM, ARCH_SET_MAMBA2,
	ARCH_SET_QKV,    ARCH_SET_FFN_NORM,    ARCH_SET_FFN,
	ARCH_SET_MOE,    ARCH_SET_SHEXP,       ARCH_SET_ROPE_FACTORS,
};

static const struct arch_key_f32 floats[] = {
	{"embedding_scale", ARCH_HP(embd_scale), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"embedding_scale", ARCH_HP(embd_scale_ext), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"residual_scale", ARCH_HP(residual_scale), ARCH_OPTIONAL, 0, 0, 1e6f},
	{"attention.scale", ARCH_HP(attn_scale), ARCH_OPTIONAL, 0, 0, 1e3f},
	{"logit_scale", ARCH_HP(logit_scale), ARCH_REQUIRED, 1, 1e-6f, 1e6f},
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	bool rotates = arch_key_bool(k, "rope.scaling.finetuned", ARCH_OPTIONAL, true);

	hp->logit_scale = 1.0f / hp->logit_scale; /* the file has a divisor */
	for (uint32_t il = 0; il < hp->n_layer && !rotates; il++)
		hp->layer[il].rope = LMD_NONE;
	arch_hybrid_mamba2(hp, k);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_renorm = true,
	       .n_head_zero = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.adjust = adjust,
	.memory = arch_hybrid_mamba2_memory,
	.mixer = arch_hybrid_mamba2_mixer,
};

ARCH_HYBRID_ARCH(granitehybrid, traits, sets)
