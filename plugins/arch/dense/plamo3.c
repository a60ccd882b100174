/* SPDX-License-Identifier: MIT
 *
 * PLaMo 3 (model card pfnet/plamo-3-nict-8b-base): norms before and after the blocks; q, k, v are
 * fused, as are gate and up; queries and keys are normalised.  If the file has a window, it applies
 * to all but every eighth layer. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN_FUSED,
	ARCH_ROWS_REQ(T_POST_ATTN_NORM_BARE, T_POST_FFN_NORM_BARE),
};

static void window_base(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_hp_rope_window(hp, k, 10000.0, true);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 8},
	.norm_placement = ARCH_NORM_SANDWICH,
	.t_attn_post = T_POST_ATTN_NORM_BARE,
	.t_ffn_post = T_POST_FFN_NORM_BARE,
	.qk_norm = ARCH_QKN_HEAD,
	.ffn_fused = true,
	.adjust = window_base,
};

ARCH_DECODER_ARCH(plamo3, traits, sets)
