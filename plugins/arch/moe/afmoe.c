/* SPDX-License-Identifier: MIT
 *
 * AFMoE (model card arcee-ai/Trinity-Mini): norms before and after the blocks, scaled embeddings, a
 * sigmoid gate on the attention result; three of four layers have a window and rotation, the fourth
 * has neither. */
#include <math.h>

#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_QK_NORM,
	ARCH_ROWS_REQ(T_ATTN_GATE, T_ATTN_GATE),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	ARCH_SET_MOE,
	ARCH_SET_SHEXP,
};

static void scale(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->embd_scale = sqrtf((float)hp->n_embd);
	hp->embd_scale_ext = hp->embd_scale;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.norm_placement = ARCH_NORM_SANDWICH,
	.qk_norm = ARCH_QKN_HEAD,
	.gate = ARCH_GATE_SIGMOID,
	.nope_period = 4,
	.adjust = scale,
};
ARCH_DECODER_ARCH(afmoe, traits, sets)
