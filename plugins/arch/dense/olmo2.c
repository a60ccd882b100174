/* SPDX-License-Identifier: MIT
 *
 * OLMo 2 and 3 (arXiv 2501.00656, 2512.13961): norms only after the blocks; queries and keys are
 * normalised over all heads together.  OLMo 3 has a window in three of four layers; only its full
 * layers scale positions. */
#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_Q_NORM_FULL, T_ATTN_K_NORM_FULL),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
};

static void plain_windows(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_rope_hp *r = &hp->rope[ARCH_ROPE_WINDOW];

	(void)k;
	r->freq_scale = 1.0;
	r->ext_factor = 0.0;
	r->attn_factor = 1.0;
}

static void olmo3(struct lmd_checkpoint *c)
{
	arch_ckpt_put_window(c, 4);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "olmo2",
	 .arch = "olmo2",
	 .pretokenizer = "olmo",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_post_norms}},
	{.type = "olmo3",
	 .arch = "olmo2",
	 .pretokenizer = "olmo",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_post_norms},
	 .keys = olmo3},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_period = 4},
	.norm_placement = ARCH_NORM_POST,
	.qk_norm = ARCH_QKN_FULL,
	.adjust = plain_windows,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(olmo2, traits, sets)
