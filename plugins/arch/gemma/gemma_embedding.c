/* SPDX-License-Identifier: MIT
 *
 * EmbeddingGemma (arXiv 2509.20354): Gemma 3 with bidirectional attention, whose window extends
 * half of its length to each side; mean pooling, then two projections if the file has them. */
#include "arch/gemma/gemma.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM,
	LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM), LMI_SET_POOL,
};

#define WINDOW_BASE 10000.0

static void both_sides(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->causal = false;
	lmi_gemma_embedding(hp, 1.0f);
	lmi_hp_rope_window(hp, k, WINDOW_BASE, true);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .window_period = 6},
	.place = LMI_SANDWICH,
	.qk_norm = LMI_QKN_HEAD,
	.act = LMD_ACT_GELU,
	.adjust = both_sides,
	.pool = {.rank_act = LMD_ACT_TANH},
};

LMI_DECODER_ARCH(gemma_embedding, traits, sets)
