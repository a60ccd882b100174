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
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_MOE,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	bool windows = false;

	(void)k;
	hp->route_renorm = true;
	hp->route_scale = 1.0f;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		windows |= l->window > 0;
		l->window = l->window ? WINDOW : 0;
	}
	/* in a model with a single period all layers have rotation */
	for (uint32_t il = 0; windows && hp->n_layer != PERIOD && il < hp->n_layer; il += PERIOD)
		hp->layer[il].rope = LMD_NONE;
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	uint32_t logits = lmi_router(e, lmi_whole(e, lmi_flush(e, s)), &lmi_rows[T_FFN_GATE_INP]);
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);
	struct lmi_moe m = lmi_moe_default(e);

	s->x = lmi_attn(e, &io, &a);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	m.act = LMD_ACT_RELU;
	m.need_gate = true;
	m.logits = logits;
	m.probs_b = NULL;
	s->x = lmi_moe(e, &io, &m);
}

static const struct lmi_decoder_traits traits = {
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
LMI_DECODER_ARCH(smallthinker, traits, sets)
