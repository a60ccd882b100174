/* SPDX-License-Identifier: MIT
 *
 * ERNIE 4.5 with experts (model card baidu/ERNIE-4.5-21B-A3B-PT): leading dense layers, then
 * experts in every step-th layer, with a selection bias and, if the file gives its width, a shared
 * expert. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP,
};

static void steps(struct arch_hparams *hp, struct arch_keys *k)
{
	if (!hp->n_ff_shexp)
		hp->n_expert_shared = 0;
	arch_moe_by_step(hp, arch_key_u32(k, "interleave_moe_layer_step", ARCH_REQUIRED, 1, 1,
					  ARCH_MAX_LAYER));
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.out_bias_ignored = true,
	.adjust = steps,
};
ARCH_DECODER_ARCH(ernie4_5_moe, traits, sets)
