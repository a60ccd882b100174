/* SPDX-License-Identifier: MIT
 *
 * gpt-oss (arXiv 2508.10925): a window in every second layer, attention sinks, biases in all
 * matrices, a softmax over the chosen experts only, a clamped gate. */
#include "arch/moe/moe.h"

#define ALPHA 1.702f /* of the activation */
#define LIMIT 7.0f

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,
	LMI_SET_ATTN_NORM,
	LMI_SET_QKV,
	LMI_REQ(T_ATTN_SINKS, T_ATTN_SINKS),
	LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_MOE,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, false);
}

static void clamped(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_moe *m)
{
	(void)e;
	(void)d;
	m->p[0] = ALPHA;
	m->p[1] = LIMIT;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .window_period = 2,
	       .route_fn = LMD_ROUTE_SOFTMAX_CHOSEN},
	.t_ffn_norm = T_POST_ATTN_NORM,
	.sinks = true,
	.act = LMD_ACT_OAI,
	.moe_gate = true,
	.adjust = adjust,
	.moe = clamped,
};
LMI_DECODER_ARCH(gpt_oss, traits, sets)
