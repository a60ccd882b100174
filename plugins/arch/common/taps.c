/* SPDX-License-Identifier: MIT
 *
 * taps.c - hidden rows that are made of the streams before some layers, as draft models read them (EAGLE-3,
 * arXiv 2503.01840; DFlash, arXiv 2602.06036).
 *
 * The streams are joined at the end of the plan, so that a plan that is divided among devices carries them to
 * the last one like any other value.  A plan without LMD_PLAN_HIDDEN has none of these ops. */
#include "arch/common/decoder.h"

void arch_taps_describe(struct arch_hparams *hp, const struct lmd_arch_params *params)
{
	if (!params || !LMD_HAS(params, taps) || params->n_tap > LMD_MAX_TAP || !hp->causal ||
	    hp->n_pass > 1 || hp->n_rank > 1)
		return;
	for (uint32_t i = 0; i < params->n_tap; i++)
		if (params->taps[i] > hp->n_layer)
			return;
	for (uint32_t i = 0; i < params->n_tap; i++)
		hp->taps[i] = params->taps[i];
	hp->n_tap = params->n_tap;
}

void arch_taps_keep(struct arch_emit *e, const struct lmd_plan_key *key, struct arch_residual *s,
		    uint32_t il)
{
	const struct arch_hparams *hp = e->hp;

	for (uint32_t i = 0; i < hp->n_tap && key->flags & LMD_PLAN_HIDDEN; i++) {
		if (hp->taps[i] != il)
			continue;
		e->tap[i] = arch_residual_flush(e, s);
		if (arch_width(e, e->tap[i]) != hp->n_embd)
			e->b->fail(e->b->ctx, LMD_UNSUPPORTED,
				   "architecture %s: its stream has %u columns, not the %u of a draft model",
				   hp->model->arch, arch_width(e, e->tap[i]), hp->n_embd);
	}
}

uint32_t arch_taps_join(struct arch_emit *e)
{
	const uint32_t n = e->hp->n_embd;
	uint32_t all = arch_value_f32(e, e->hp->n_tap * n, "taps");

	for (uint32_t i = 0; i < e->hp->n_tap; i++)
		arch_put_scale_add(e, arch_operand_cols(e->tap[i], 0, n), 1.0f, arch_operand_none(),
				   arch_operand_cols(all, i * n, n));
	return all;
}
