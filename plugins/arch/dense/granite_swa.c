/* SPDX-License-Identifier: MIT
 *
 * Granite with sliding windows (architecture granite_swa): Granite scales; attention sinks; one
 * pattern selects the layers with a window, another those with rotation; dense, or with experts
 * and a shared expert whose gate and up are fused. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_REQ(T_ATTN_SINKS, T_ATTN_SINKS),
	LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE, LMI_REQ(T_FFN_DOWN_SHEXP, T_FFN_GATE_UP_SHEXP),
	LMI_SET_ROPE_FACTORS,
};

static void scales(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t *rotates = lmi_hp_alloc(hp, k, hp->n_layer, sizeof(*rotates));

	lmi_granite_scales(hp, k);
	lmi_granite_deepstack(hp, k);
	if (!lmi_key_is_array(k, "attention.sliding_window_pattern"))
		lmi_key_fail(k, LMD_NOTFOUND,
			     "%s.attention.sliding_window_pattern: the file has no such array",
			     k->model->arch);
	if (!rotates || !lmi_key_u32s(k, "attention.rope_pattern", LMI_OPTIONAL, rotates,
				      hp->n_layer, 1, 0, 1))
		return;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!rotates[il])
			hp->layer[il].rope = LMD_NONE;
	}
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .route_renorm = true},
	.sinks = true,
	.shared_fused = true,
	.adjust = scales,
};

LMI_DECODER_ARCH(granite_swa, traits, sets)
