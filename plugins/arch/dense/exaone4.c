/* SPDX-License-Identifier: MIT
 *
 * EXAONE 4 (arXiv 2507.11407): norms only after the blocks; queries and keys are normalised.  The
 * model with 64 layers has a window in three of four layers; its full layers have no rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN, LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM), LMI_SET_ROPE_FREQS,
};

static const struct lmi_hp_opts window = {
	.window = true, .window_default = 4096, .window_period = 4};

static void windows_of_32b(struct lmi_hparams *hp, struct lmi_keys *k)
{
	if (hp->n_layer != 64)
		return;
	lmi_hp_windows(hp, k, &window);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.place = LMI_POST,
	.qk_norm = LMI_QKN_HEAD,
	.nope_full = true,
	.adjust = windows_of_32b,
};

LMI_DECODER_ARCH(exaone4, traits, sets)
