/* SPDX-License-Identifier: MIT
 *
 * Step-3.5 (model card stepfun-ai/Step-3.5-Flash): a sigmoid gate per attention head; full layers
 * rotate half as many columns as window layers; clamped gates in some layers.  A layer is dense
 * unless it has a router.  Draft layers are not run. */
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
	LMI_SET_GLOBAL,
	LMI_SET_ATTN_NORM,
	LMI_SET_QKV,
	LMI_OPT(T_ATTN_Q_NORM, T_ATTN_K_NORM),
	LMI_OPT(T_ATTN_GATE_HEAD, T_ATTN_GATE_HEAD),
	LMI_SET_FFN_NORM,
	LMI_SET_FFN,
	LMI_SET_MOE,
	LMI_SET_SHEXP,
	LMI_OWN(freqs),
};

/* Clamps of the gates of routed and shared experts, [n_layer]; 0: none. */
struct limits {
	double *routed, *shared;
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	const struct lmi_layer *l0 = &hp->layer[0];
	uint32_t swa =
		lmi_key_u32(k, "rope.dimension_count_swa", LMI_OPTIONAL, l0->n_rot, 0, l0->dk);
	struct limits *m = lmi_hp_alloc(hp, k, 1, sizeof(*m));

	if (!m)
		return;
	hp->own_data = m;
	m->routed = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*m->routed));
	m->shared = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*m->shared));
	if (!m->routed || !m->shared)
		return;
	(void)lmi_key_f64s(k, "swiglu_clamp_exp", LMI_OPTIONAL, m->routed, hp->n_layer, 0.0, 0.0,
			   1e9);
	(void)lmi_key_f64s(k, "swiglu_clamp_shexp", LMI_OPTIONAL, m->shared, hp->n_layer, 0.0, 0.0,
			   1e9);
	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, true);
	lmi_moe_by_tensor(hp);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		l->n_rot = l->window ? swa : l->n_rot / 2;
		l->n_rot -= l->n_rot % 2;
		if (!l->n_rot)
			l->rope = LMD_NONE;
	}
}

static void gate(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)d;
	a->gate = LMI_GATE_NONE;
	a->gate_row = &lmi_rows[T_ATTN_GATE_HEAD];
	if (lmi_has(e, a->gate_row))
		a->gate = LMI_GATE_SIGMOID;
}

static void clamp(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_moe *m)
{
	const struct limits *lim = d->hp.own_data;
	float routed = (float)lim->routed[e->il], shared = (float)lim->shared[e->il];

	if (routed > 0.0f) {
		m->act = LMD_ACT_SILU_CLAMP_OUT;
		m->p[0] = routed;
	}
	if (shared > 0.0f) {
		m->shared.act = LMD_ACT_SILU_CLAMP_OUT;
		m->shared.p[0] = shared;
	}
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = adjust,
	.attn = gate,
	.moe = clamp,
};
LMI_DECODER_ARCH(step35, traits, sets)
