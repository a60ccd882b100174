/* SPDX-License-Identifier: MIT
 *
 * EmbeddingGemma (arXiv 2509.20354): Gemma 3 with bidirectional attention, whose window extends
 * half of its length to each side; mean pooling, then two projections if the file has them. */
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_QK_NORM,
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	ARCH_SET_POOL,
};

#define WINDOW_BASE 10000.0

static void make_bidirectional(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->causal = false;
	arch_gemma_embedding_scale(hp, 1.0f);
	arch_hp_rope_window(hp, k, WINDOW_BASE, true);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 6},
	.norm_placement = ARCH_NORM_SANDWICH,
	.qk_norm = ARCH_QKN_HEAD,
	.act = LMD_ACT_FN_GELU,
	.adjust = make_bidirectional,
	.pool = {.rank_act = LMD_ACT_FN_TANH},
};

ARCH_DECODER_ARCH(gemma_embedding, traits, sets)
