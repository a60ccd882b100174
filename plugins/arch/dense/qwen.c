/* SPDX-License-Identifier: MIT
 *
 * Qwen 1 (arXiv 2309.16609): q, k and v are fused and have a bias.  feed_forward_length counts gate
 * and up together. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static void half_ff(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].n_ff /= 2;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = half_ff,
};

LMI_DECODER_ARCH(qwen, traits, sets)
