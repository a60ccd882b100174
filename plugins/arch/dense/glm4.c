/* SPDX-License-Identifier: MIT
 *
 * GLM-4-0414 and the text model of GLM-4.1V (model cards zai-org/GLM-4-9B-0414,
 * GLM-4.1V-9B-Thinking): norms before and after the blocks; gate and up are fused.  Files with
 * rope.dimension_sections use M-RoPE with NeoX-style rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM, LMI_SET_FFN_FUSED, LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static void pairing(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	if (hp->sections_kind)
		hp->rope_pairing = LMD_ROPE_HALVES;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .sections_kind = LMD_SECTIONS_BLOCKS},
	.place = LMI_SANDWICH,
	.ffn_fused = true,
	.adjust = pairing,
};

LMI_DECODER_ARCH(glm4, traits, sets)
