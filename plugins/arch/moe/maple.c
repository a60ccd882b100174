/* SPDX-License-Identifier: MIT
 *
 * Maple: Qwen3 with experts.  The file says which layers have a window; the others have no
 * rotation.  The gates of the experts are clamped. */
#include "arch/moe/moe.h"

#define LIMIT 7.0 /* clamp of old files */

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,  ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_QK_NORM, ARCH_SET_FFN_NORM,  ARCH_SET_MOE,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	double *limit = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*limit));

	if (!limit)
		return;
	hp->arch_data = limit;
	(void)arch_key_f64s(k, "swiglu_clamp_exp", ARCH_OPTIONAL, limit, hp->n_layer, LIMIT, 0.0,
			    1e9);
	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, false);
}

static void clamp(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	const double *limit = d->hp.arch_data;

	if (limit[e->il] <= 0.0)
		return;
	m->act = LMD_ACT_FN_SILU_CLAMP_IN;
	m->p[0] = (float)limit[e->il];
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .route_renorm = true},
	.qk_norm = ARCH_QKN_HEAD,
	.nope_full = true,
	.draft_differs = true, /* no file with draft layers is known */
	.moe_gate = true,
	.adjust = adjust,
	.moe = clamp,
};
ARCH_DECODER_ARCH(maple, traits, sets)
