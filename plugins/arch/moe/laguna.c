/* SPDX-License-Identifier: MIT
 *
 * Laguna (model card poolside/Laguna-XS.2): a softplus gate on the attention result, per head or
 * per column.  The first of four layers has full attention and context scaling; the others have a
 * window, more heads, and their own rotation without scaling. */
#include <stdio.h>

#include "arch/moe/moe.h"

#define L_GATE_HEAD (ARCH_L_OWN << 0)
#define L_GATE_COLS (ARCH_L_OWN << 1)
#define GATE(d, when)                                                                              \
	{                                                                                          \
		"blk.%d.attn_gate", {D_EMBD, d}, LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA, LMD_SPLIT_HEADS, when, NULL  \
	}

static const struct lmd_tensor_row rows[] = {
	GATE(D_HEAD, L_GATE_HEAD),
	GATE(D_O, L_GATE_COLS),
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_QK_NORM, ARCH_ROWS_OWN(rows),
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_MOE, ARCH_SET_SHEXP,
};

/* Determines the kind of a layer's gate from the width of its tensor. */
static uint32_t gate_class(const struct arch_hparams *hp, uint32_t il)
{
	const struct arch_layer *l = &hp->layer[il];
	const struct lmd_tensor *t;
	char name[64];

	(void)snprintf(name, sizeof(name), "blk.%u.attn_gate.weight", il);
	t = hp->model->find_tensor(hp->model, name);
	return t && t->n_dim > 1 && l->dv > 1 && t->dims[1] == (int64_t)l->n_head * l->dv
		       ? L_GATE_COLS
		       : L_GATE_HEAD;
}

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	const struct arch_layer *l0 = &hp->layer[0];
	uint32_t n_rot =
		arch_key_u32(k, "rope.dimension_count_swa", ARCH_OPTIONAL, l0->n_rot, 0, l0->dk);

	arch_hp_rope_window(hp, k, hp->rope[ARCH_ROPE_FULL].base, true);
	hp->rope[ARCH_ROPE_WINDOW].attn_factor = 1.0;
	if (hp->n_expert && !hp->n_expert_shared)
		hp->n_expert_shared = 1;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		l->cls |= gate_class(hp, il) | (l->cls & ARCH_L_MOE ? ARCH_L_SHEXP : 0);
		l->n_rot = l->window ? n_rot : l->n_rot;
	}
}

static void gate(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)d;
	a->gate_row = &rows[(arch_current_layer(e)->cls & L_GATE_COLS) != 0];
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4,
	       .window_dense_first = true,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = ARCH_QKN_HEAD,
	.gate = ARCH_GATE_SOFTPLUS,
	.adjust = adjust,
	.attn = gate,
};
ARCH_DECODER_ARCH(laguna, traits, sets)
