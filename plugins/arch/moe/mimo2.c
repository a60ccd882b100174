/* SPDX-License-Identifier: MIT
 *
 * MiMo-V2 (arXiv 2601.02780): layers with a window have their own number and size of heads, their
 * own rotation, and sinks; partial rotation; the attention result is scaled.  A layer is dense
 * unless it has a router.  Draft layers have a window and read streams before the last norm. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,      ARCH_ROWS_OPT(T_ATTN_SINKS, T_ATTN_SINKS),
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,
	ARCH_SET_MOE,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	const struct arch_layer *l0 = &hp->layer[0];
	uint32_t dk =
		arch_key_u32(k, "attention.key_length_swa", ARCH_OPTIONAL, l0->dk, 1, ARCH_MAX_DK);
	uint32_t dv = arch_key_u32(k, "attention.value_length_swa", ARCH_OPTIONAL, l0->dv, 1,
				   ARCH_MAX_DK);
	uint32_t rot = arch_key_u32(k, "rope.dimension_count_swa", ARCH_OPTIONAL,
				    l0->n_rot < dk ? l0->n_rot : dk, 0, dk);

	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, true);
	arch_moe_by_tensor(hp);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

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
static void sinks(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)d;
	if (arch_weight_exists(e, &arch_rows[T_ATTN_SINKS]))
		a->sinks = &arch_rows[T_ATTN_SINKS];
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);

	io.a = d->hp.residual_scale;
	s->x = arch_attn(e, &io, &a);
	n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	io = arch_residual_read(e, s, &n);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

/* Scales only what attention adds to the stream. */
static const struct arch_key_f32 floats[] = {
	{"attention.value_scale", ARCH_HP(residual_scale), ARCH_OPTIONAL, 1, 1e-6f, 1e6f},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_renorm = true},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.moe_gate = true,
	.draft_window = true,
	.draft_stream = true,
	.draft_layer = true,
	.draft = arch_moe_layer_by_tensor,
	.adjust = adjust,
	.attn = sinks,
	.layer = layer,
};
ARCH_DECODER_ARCH(mimo2, traits, sets)
