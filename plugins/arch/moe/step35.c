/* SPDX-License-Identifier: MIT
 *
 * Step-3.5 (model card stepfun-ai/Step-3.5-Flash): a sigmoid gate per attention head; full layers
 * rotate half as many columns as window layers; clamped gates in some layers.  A layer is dense
 * unless it has a router.  Draft layers have a window and read streams before the last norm. */
#include "arch/moe/moe.h"

/* Factors for the widest rotation; narrower ones use the first of them. */
static const struct lmd_tensor_row freqs[] = {
	{"rope_freqs",
	 {D_ROT_HALF},
	 LMD_TENSOR_GLOBAL | LMD_TENSOR_ANY_SHAPE,
	 LMD_SPLIT_REPLICATE,
	 0,
	 NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_OPT(T_ATTN_Q_NORM, T_ATTN_K_NORM),
	ARCH_ROWS_OPT(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_SET_MOE,
	ARCH_SET_SHEXP,
	ARCH_ROWS_OWN(freqs),
};

/* Clamps of the gates of routed and shared experts, [n_layer_all]; 0: none, as in draft layers. */
struct limits {
	double *routed, *shared;
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	const struct arch_layer *l0 = &hp->layer[0];
	uint32_t swa =
		arch_key_u32(k, "rope.dimension_count_swa", ARCH_OPTIONAL, l0->n_rot, 0, l0->dk);
	struct limits *m = arch_hp_alloc(hp, k, 1, sizeof(*m));

	if (!m)
		return;
	hp->arch_data = m;
	m->routed = arch_hp_alloc(hp, k, hp->n_layer_all, sizeof(*m->routed));
	m->shared = arch_hp_alloc(hp, k, hp->n_layer_all, sizeof(*m->shared));
	if (!m->routed || !m->shared)
		return;
	(void)arch_key_f64s(k, "swiglu_clamp_exp", ARCH_OPTIONAL, m->routed, hp->n_layer, 0.0, 0.0,
			    1e9);
	(void)arch_key_f64s(k, "swiglu_clamp_shexp", ARCH_OPTIONAL, m->shared, hp->n_layer, 0.0,
			    0.0, 1e9);
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, true);
	arch_moe_by_tensor(hp);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		l->n_rot = l->window ? swa : l->n_rot / 2;
		l->n_rot -= l->n_rot % 2;
		if (!l->n_rot)
			l->rope = LMD_NONE;
	}
}

static void gate(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)d;
	a->gate = ARCH_GATE_NONE;
	a->gate_row = &arch_rows[T_ATTN_GATE_HEAD];
	if (arch_weight_exists(e, a->gate_row))
		a->gate = ARCH_GATE_SIGMOID;
}

static void clamp(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	const struct limits *lim = d->hp.arch_data;
	float routed = (float)lim->routed[e->il], shared = (float)lim->shared[e->il];

	if (routed > 0.0f) {
		m->act = LMD_ACT_FN_SILU_CLAMP_OUT;
		m->p[0] = routed;
	}
	if (shared > 0.0f) {
		m->shared.act = LMD_ACT_FN_SILU_CLAMP_OUT;
		m->shared.p[0] = shared;
	}
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
	.draft_window = true,
	.draft_stream = true,
	.draft = arch_moe_layer_by_tensor,
	.adjust = adjust,
	.attn = gate,
	.moe = clamp,
};
ARCH_DECODER_ARCH(step35, traits, sets)
