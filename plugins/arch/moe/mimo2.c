/* SPDX-License-Identifier: MIT
 *
 * MiMo-V2 (arXiv 2601.02780): layers with a window have their own number and size of heads, their
 * own rotation, and sinks; partial rotation; the attention result is scaled.  A layer is dense
 * unless it has a router.  Draft layers are not run. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,
	LMI_SET_ATTN_NORM,
	LMI_SET_QKV,
	LMI_OPT(T_ATTN_SINKS, T_ATTN_SINKS),
	LMI_SET_FFN_NORM,
	LMI_SET_FFN,
	LMI_SET_MOE,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	const struct lmi_layer *l0 = &hp->layer[0];
	uint32_t dk =
		lmi_key_u32(k, "attention.key_length_swa", LMI_OPTIONAL, l0->dk, 1, LMI_MAX_DK);
	uint32_t dv =
		lmi_key_u32(k, "attention.value_length_swa", LMI_OPTIONAL, l0->dv, 1, LMI_MAX_DK);
	uint32_t rot = lmi_key_u32(k, "rope.dimension_count_swa", LMI_OPTIONAL,
				   l0->n_rot < dk ? l0->n_rot : dk, 0, dk);

	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, true);
	lmi_moe_by_tensor(hp);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (!l->window)
			continue;
		l->dk = dk;
		l->dv = dv;
		l->n_rot = rot;
		if (!rot)
			l->rope = LMD_NONE;
	}
}

/* Uses sinks if the layer has them. */
static void sinks(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)d;
	if (lmi_has(e, &lmi_rows[T_ATTN_SINKS]))
		a->sinks = &lmi_rows[T_ATTN_SINKS];
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);

	io.a = d->hp.residual_scale;
	s->x = lmi_attn(e, &io, &a);
	n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	io = lmi_read(e, s, &n);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

/* Scales only what attention adds to the stream. */
static const struct lmi_key_f32 floats[] = {
	{"attention.value_scale", LMI_HP(residual_scale), LMI_OPTIONAL, 1, 1e-6f, 1e6f},
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.moe_gate = true,
	.adjust = adjust,
	.attn = sinks,
	.layer = layer,
};
LMI_DECODER_ARCH(mimo2, traits, sets)
