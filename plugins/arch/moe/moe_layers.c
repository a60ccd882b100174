/* SPDX-License-Identifier: MIT
 *
 * moe_layers.c - selects the layers with experts where that is not "all after the first n". */
#include <stdio.h>

#include "arch/moe/moe.h"

static bool has(const struct arch_hparams *hp, uint32_t il, const char *stem)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "blk.%u.%s.weight", il, stem);
	return arch_hp_tensor(hp, name) != LMD_NONE;
}

static void set_experts(struct arch_hparams *hp, uint32_t il, bool experts)
{
	struct arch_layer *l = &hp->layer[il];
	bool shared = hp->n_ff_shexp || hp->n_expert_shared;

	l->cls &= ~(ARCH_L_DENSE | ARCH_L_MOE | ARCH_L_SHEXP);
	l->cls |= !experts ? ARCH_L_DENSE : ARCH_L_MOE | (shared ? ARCH_L_SHEXP : 0);
}

void arch_moe_layer_by_tensor(struct arch_hparams *hp, uint32_t il)
{
	set_experts(hp, il, hp->n_expert && has(hp, il, "ffn_gate_inp"));
	if (!has(hp, il, "ffn_up_shexp"))
		hp->layer[il].cls &= ~ARCH_L_SHEXP;
}

void arch_moe_by_tensor(struct arch_hparams *hp)
{
	for (uint32_t il = 0; il < hp->n_layer; il++)
		arch_moe_layer_by_tensor(hp, il);
}

void arch_moe_by_step(struct arch_hparams *hp, uint32_t step)
{
	for (uint32_t il = 0; il < hp->n_layer; il++)
		set_experts(hp, il,
			    hp->n_expert && step && il >= hp->n_dense_lead && (il + 1) % step == 0);
}

void arch_moe_split_ff(struct arch_hparams *hp, struct arch_keys *k)
{
	if (hp->n_expert && !arch_key_has(k, "expert_feed_forward_length"))
		hp->n_ff_exp = hp->layer[0].n_ff / hp->n_expert_used;
}
