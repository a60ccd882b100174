/* SPDX-License-Identifier: MIT
 *
 * Mellum 2 (model card JetBrains/Mellum-2): Qwen3 with experts; three of four layers have a window
 * and rotation without context scaling. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,  LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_SET_QK_NORM, LMI_SET_FFN_NORM,  LMI_SET_MOE,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_rope_hp *r = &hp->rope[LMI_ROPE_WINDOW];

	lmi_moe_split_ff(hp, k);
	*r = hp->rope[LMI_ROPE_FULL];
	r->freq_scale = 1.0;
	r->ext_factor = 0.0;
	r->attn_factor = 1.0;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4,
	       .route_renorm = true},
	.qk_norm = LMI_QKN_HEAD,
	.moe_gate = true,
	.adjust = adjust,
};
LMI_DECODER_ARCH(mellum, traits, sets)
