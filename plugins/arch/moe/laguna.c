/* SPDX-License-Identifier: MIT
 *
 * Laguna (model card poolside/Laguna-XS.2): a softplus gate on the attention result, per head or
 * per column.  The first of four layers has full attention and context scaling; the others have a
 * window, more heads, and their own rotation without scaling. */
#include <stdio.h>

#include "arch/moe/moe.h"

#define L_GATE_HEAD (LMI_L_OWN << 0)
#define L_GATE_COLS (LMI_L_OWN << 1)
#define GATE(d, when)                                                                              \
	{                                                                                          \
		"blk.%d.attn_gate", {D_EMBD, d}, LMD_TENSOR_REQUIRED, LMD_SPLIT_HEADS, when, NULL  \
	}

static const struct lmd_tensor_row rows[] = {
	GATE(D_HEAD, L_GATE_HEAD),
	GATE(D_O, L_GATE_COLS),
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,   LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_OWN(rows),
	LMI_SET_FFN_NORM, LMI_SET_FFN,       LMI_SET_MOE, LMI_SET_SHEXP,
};

/* Determines the kind of a layer's gate from the width of its tensor. */
static uint32_t gate_class(const struct lmi_hparams *hp, uint32_t il)
{
	const struct lmi_layer *l = &hp->layer[il];
	const struct lmd_tensor *t;
	char name[64];

	(void)snprintf(name, sizeof(name), "blk.%u.attn_gate.weight", il);
	t = hp->model->find_tensor(hp->model, name);
	return t && t->n_dim > 1 && l->dv > 1 && t->dims[1] == (int64_t)l->n_head * l->dv
		       ? L_GATE_COLS
		       : L_GATE_HEAD;
}

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	const struct lmi_layer *l0 = &hp->layer[0];
	uint32_t n_rot =
		lmi_key_u32(k, "rope.dimension_count_swa", LMI_OPTIONAL, l0->n_rot, 0, l0->dk);

	lmi_hp_rope_window(hp, k, hp->rope[LMI_ROPE_FULL].base, true);
	hp->rope[LMI_ROPE_WINDOW].attn_factor = 1.0;
	if (hp->n_expert && !hp->n_expert_shared)
		hp->n_expert_shared = 1;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		l->cls |= gate_class(hp, il) | (l->cls & LMI_L_MOE ? LMI_L_SHEXP : 0);
		l->n_rot = l->window ? n_rot : l->n_rot;
	}
}

static void gate(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)d;
	a->gate_row = &rows[(lmi_cur(e)->cls & L_GATE_COLS) != 0];
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4,
	       .window_dense_first = true,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.qk_norm = LMI_QKN_HEAD,
	.gate = LMI_GATE_SOFTPLUS,
	.adjust = adjust,
	.attn = gate,
};
LMI_DECODER_ARCH(laguna, traits, sets)
