/* SPDX-License-Identifier: MIT
 *
 * AFMoE (model card arcee-ai/Trinity-Mini): norms before and after the blocks, scaled embeddings, a
 * sigmoid gate on the attention result; three of four layers have a window and rotation, the fourth
 * has neither. */
#include <math.h>

#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,
	LMI_SET_ATTN_NORM,
	LMI_SET_QKV,
	LMI_SET_QK_NORM,
	LMI_REQ(T_ATTN_GATE, T_ATTN_GATE),
	LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM,
	LMI_SET_FFN,
	LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	LMI_SET_MOE,
	LMI_SET_SHEXP,
};

static void scale(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->embd_scale = sqrtf((float)hp->n_embd);
	hp->embd_scale_ext = hp->embd_scale;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.place = LMI_SANDWICH,
	.qk_norm = LMI_QKN_HEAD,
	.gate = LMI_GATE_SIGMOID,
	.nope_period = 4,
	.adjust = scale,
};
LMI_DECODER_ARCH(afmoe, traits, sets)
