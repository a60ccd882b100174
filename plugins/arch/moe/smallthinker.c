/* SPDX-License-Identifier: MIT
 *
 * SmallThinker (arXiv 2507.20984): the router reads the layer's input before attention, so that
 * experts can be prefetched; ReLU gates.  The first of four layers has full attention and no
 * rotation; the others have a window of 4096, regardless of the number in the file.  Without the
 * window key all layers have full attention and rotation. */
#include "arch/moe/moe.h"

#define WINDOW 4096u
#define PERIOD 4u

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_MOE,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	bool windows = false;

	(void)k;
	hp->route_renorm = true;
	hp->route_scale = 1.0f;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		windows |= l->window > 0;
		l->window = l->window ? WINDOW : 0;
	}
	/* in a model with a single period all layers have rotation */
	for (uint32_t il = 0; windows && hp->n_layer != PERIOD && il < hp->n_layer; il += PERIOD)
		hp->layer[il].rope = LMD_NONE;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	uint32_t logits = arch_router(e, arch_operand_all(e, arch_residual_flush(e, s)),
				      &arch_rows[T_FFN_GATE_INP]);
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);
	struct arch_moe m = arch_moe_default(e);

	s->x = arch_attn(e, &io, &a);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	m.act = LMD_ACT_FN_RELU;
	m.need_gate = true;
	m.logits = logits;
	m.probs_b = NULL;
	s->x = arch_moe(e, &io, &m);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = PERIOD,
	       .window_dense_first = true,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.adjust = adjust,
	.layer = layer,
};
ARCH_DECODER_ARCH(smallthinker, traits, sets)
