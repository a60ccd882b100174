/* SPDX-License-Identifier: MIT
 *
 * Mellum 2 (model card JetBrains/Mellum-2): Qwen3 with experts; three of four layers have a window
 * and rotation without context scaling. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,  ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_QK_NORM, ARCH_SET_FFN_NORM,  ARCH_SET_MOE,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_rope_hp *r = &hp->rope[ARCH_ROPE_WINDOW];

	arch_moe_split_ff(hp, k);
	*r = hp->rope[ARCH_ROPE_FULL];
	r->freq_scale = 1.0;
	r->ext_factor = 0.0;
	r->attn_factor = 1.0;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4,
	       .route_renorm = true},
	.qk_norm = ARCH_QKN_HEAD,
	.moe_gate = true,
	.adjust = adjust,
};
ARCH_DECODER_ARCH(mellum, traits, sets)
