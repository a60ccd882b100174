/* SPDX-License-Identifier: MIT
 *
 * Baichuan (arXiv 2309.10305).  The 7B model uses RoPE; the 13B model, identified by its 40 layers,
 * uses ALiBi. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static void alibi_of_13b(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	if (hp->n_layer != 40)
		return;
	hp->alibi_max = 8.0f;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].rope = LMD_NONE;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.adjust = alibi_of_13b,
};

LMI_DECODER_ARCH(baichuan, traits, sets)
