/* SPDX-License-Identifier: MIT
 *
 * Ling (arXiv 2503.05139): LLaMA with routed and shared experts; scores are divided by the square
 * root of the number of rotated columns.  bailingmoe2 (Ling 2.0, arXiv 2510.22115): normalised
 * queries and keys, partial rotation, leading dense layers, a sigmoid router with groups and a
 * selection bias. */
#include <math.h>

#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FACTORS,
};

static void scale(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->route_fn = LMD_ROUTE_SOFTMAX;
	if (hp->layer[0].n_rot)
		hp->attn_scale = 1.0f / sqrtf((float)hp->layer[0].n_rot);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = scale,
};
ARCH_DECODER_ARCH(bailingmoe, traits, sets)

static const struct lmd_tensor_set sets2[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_MOE, ARCH_SET_SHEXP,
};

/* Sets the width of all shared experts together; the file has that of one. */
static void shared(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	if (hp->n_expert_shared > 1 && hp->n_ff_shexp <= ARCH_KEY_MAX_WIDTH / hp->n_expert_shared)
		hp->n_ff_shexp *= hp->n_expert_shared;
}

static const struct arch_decoder_traits traits2 = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
	.adjust = shared,
};
ARCH_DECODER_ARCH(bailingmoe2, traits2, sets2)
