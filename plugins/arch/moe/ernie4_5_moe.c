/* SPDX-License-Identifier: MIT
 *
 * ERNIE 4.5 with experts (model card baidu/ERNIE-4.5-21B-A3B-PT): leading dense layers, then
 * experts in every step-th layer, with a selection bias and, if the file gives its width, a shared
 * expert. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_SHEXP,
};

static void steps(struct lmi_hparams *hp, struct lmi_keys *k)
{
	if (!hp->n_ff_shexp)
		hp->n_expert_shared = 0;
	lmi_moe_by_step(hp, lmi_key_u32(k, "interleave_moe_layer_step", LMI_REQUIRED, 1, 1,
					LMI_MAX_LAYER));
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.out_bias_ignored = true,
	.adjust = steps,
};
LMI_DECODER_ARCH(ernie4_5_moe, traits, sets)
