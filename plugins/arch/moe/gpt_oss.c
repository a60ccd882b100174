/* SPDX-License-Identifier: MIT
 *
 * gpt-oss (arXiv 2508.10925): a window in every second layer, attention sinks, biases in all
 * matrices, a softmax over the chosen experts only, a clamped gate. */
#include "arch/moe/moe.h"

#define ALPHA 1.702f /* of the activation */
#define LIMIT 7.0f

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_SINKS, T_ATTN_SINKS),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_MOE,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
}

static void clamped(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	(void)e;
	(void)d;
	m->p[0] = ALPHA;
	m->p[1] = LIMIT;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 2,
	       .route_fn = LMD_ROUTE_SOFTMAX_CHOSEN},
	.t_ffn_norm = T_POST_ATTN_NORM,
	.sinks = true,
	.act = LMD_ACT_FN_OAI,
	.moe_gate = true,
	.adjust = adjust,
	.moe = clamped,
};
ARCH_DECODER_ARCH(gpt_oss, traits, sets)
