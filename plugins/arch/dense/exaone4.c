/* SPDX-License-Identifier: MIT
 *
 * EXAONE 4 (arXiv 2507.11407): norms only after the blocks; queries and keys are normalised.  The
 * model with 64 layers has a window in three of four layers; its full layers have no rotation. */
#include "arch/common/checkpoint.h"
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

/* Checkpoints. EXAONE 4: norms placed as in OLMo 2, and a norm for each head. */
#define EXAONE4_LARGE 64 /* number of layers of the model that has arch_ckpt_put_windows */

static void checkpoint_exaone4(struct lmd_checkpoint *c)
{
	uint8_t *is = c->alloc(c, c->n_layer, 1);
	bool any = false;

	if (is && c->window_layers(c, is))
		for (uint32_t i = 0; i < c->n_layer; i++)
			any = any || is[i];
	if (any && c->n_layer != EXAONE4_LARGE)
		c->fail(c, LMD_UNSUPPORTED,
			"\"layer_types\": architecture exaone4 has windows "
			"only in models of %d layers, this one has %u",
			EXAONE4_LARGE, c->n_layer);
	else if (any)
		arch_ckpt_put_window(c, 4);
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "exaone4",
	 .arch = "exaone4",
	 .pretokenizer = "exaone",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_post_norms},
	 .keys = checkpoint_exaone4},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.norm_placement = ARCH_NORM_POST,
	.qk_norm = ARCH_QKN_HEAD,
	.nope_full = true,
	.adjust = windows_of_32b,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(exaone4, traits, sets)
