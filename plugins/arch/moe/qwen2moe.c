/* SPDX-License-Identifier: MIT
 *
 * Qwen1.5-MoE and Qwen2-57B-A14B (arXiv 2407.10671): Qwen2 with experts and a shared expert with a
 * sigmoid gate; the router's weights are not renormalised. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM,
	LMI_SET_MOE,    LMI_REQ(T_FFN_GATE_INP_SHEXP, T_FFN_GATE_INP_SHEXP), LMI_SET_SHEXP,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	if (!hp->n_ff_shexp) /* the oldest files do not have the key */
		hp->n_ff_shexp = hp->layer[0].n_ff;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].cls |= LMI_L_SHEXP;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.moe_gate = true,
	.adjust = adjust,
};
LMI_DECODER_ARCH(qwen2moe, traits, sets)
