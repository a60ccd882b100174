/* SPDX-License-Identifier: MIT
 *
 * EXAONE 4 (arXiv 2507.11407): norms only after the blocks; queries and keys are normalised.  The
 * model with 64 layers has a window in three of four layers; its full layers have no rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,     ARCH_SET_QKV,
	ARCH_SET_QK_NORM,    ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN,        ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	ARCH_SET_ROPE_FREQS,
};

static const struct arch_hp_opts window = {
	.window = true, .window_default = 4096, .window_period = 4};

static void windows_of_32b(struct arch_hparams *hp, struct arch_keys *k)
{
	if (hp->n_layer != 64)
		return;
	arch_hp_windows(hp, k, &window);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_POST,
	.qk_norm = ARCH_QKN_HEAD,
	.nope_full = true,
	.adjust = windows_of_32b,
};

ARCH_DECODER_ARCH(exaone4, traits, sets)
