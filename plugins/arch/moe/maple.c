/* SPDX-License-Identifier: MIT
 *
 * Maple: Qwen3 with experts.  The file says which layers have a window; the others have no
 * rotation.  The gates of the experts are clamped. */
#include "arch/moe/moe.h"

#define LIMIT 7.0 /* clamp of old files */

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,  LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_SET_QK_NORM, LMI_SET_FFN_NORM,  LMI_SET_MOE,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	double *limit = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*limit));

	if (!limit)
		return;
	hp->own_data = limit;
	(void)lmi_key_f64s(k, "swiglu_clamp_exp", LMI_OPTIONAL, limit, hp->n_layer, LIMIT, 0.0,
			   1e9);
	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, false);
}

static void clamp(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_moe *m)
{
	const double *limit = d->hp.own_data;

	if (limit[e->il] <= 0.0)
		return;
	m->act = LMD_ACT_SILU_CLAMP_IN;
	m->p[0] = (float)limit[e->il];
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .route_renorm = true},
	.qk_norm = LMI_QKN_HEAD,
	.nope_full = true,
	.moe_gate = true,
	.adjust = adjust,
	.moe = clamp,
};
LMI_DECODER_ARCH(maple, traits, sets)
