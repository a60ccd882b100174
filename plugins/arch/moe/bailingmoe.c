/* SPDX-License-Identifier: MIT
 *
 * Ling (arXiv 2503.05139): LLaMA with routed and shared experts; scores are divided by the square
 * root of the number of rotated columns.  bailingmoe2 (Ling 2.0, arXiv 2510.22115): normalised
 * queries and keys, partial rotation, leading dense layers, a sigmoid router with groups and a
 * selection bias. */
#include <math.h>

#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_SHEXP, LMI_SET_ROPE_FACTORS,
};

static void scale(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->route_fn = LMD_ROUTE_SOFTMAX;
	if (hp->layer[0].n_rot)
		hp->attn_scale = 1.0f / sqrtf((float)hp->layer[0].n_rot);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.adjust = scale,
};
LMI_DECODER_ARCH(bailingmoe, traits, sets)

static const struct lmd_tensor_set sets2[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM,
	LMI_SET_FFN_NORM, LMI_SET_FFN,       LMI_SET_MOE, LMI_SET_SHEXP,
};

/* Sets the width of all shared experts together; the file has that of one. */
static void shared(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	if (hp->n_expert_shared > 1 && hp->n_ff_shexp <= LMI_MAX_WIDTH / hp->n_expert_shared)
		hp->n_ff_shexp *= hp->n_expert_shared;
}

static const struct lmi_decoder_traits traits2 = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = shared,
};
LMI_DECODER_ARCH(bailingmoe2, traits2, sets2)
