/* SPDX-License-Identifier: MIT
 *
 * OLMo 2 and 3 (arXiv 2501.00656, 2512.13961): norms only after the blocks; queries and keys are
 * normalised over all heads together.  OLMo 3 has a window in three of four layers; only its full
 * layers scale positions. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_QKV, LMI_REQ(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM), LMI_SET_FFN,
	LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static void plain_windows(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_rope_hp *r = &hp->rope[LMI_ROPE_WINDOW];

	(void)k;
	r->freq_scale = 1.0;
	r->ext_factor = 0.0;
	r->attn_factor = 1.0;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4},
	.place = LMI_POST,
	.qk_norm = LMI_QKN_FULL,
	.adjust = plain_windows,
};

LMI_DECODER_ARCH(olmo2, traits, sets)
