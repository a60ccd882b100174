/* SPDX-License-Identifier: MIT
 *
 * Qwen 1 (arXiv 2309.16609): q, k and v are fused and have a bias.  feed_forward_length counts gate
 * and up together. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static void half_ff(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].n_ff /= 2;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.adjust = half_ff,
};

ARCH_DECODER_ARCH(qwen, traits, sets)
