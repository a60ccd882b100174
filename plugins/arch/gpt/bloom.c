/* SPDX-License-Identifier: MIT
 *
 * BLOOM (arXiv 2211.05100): LayerNorm after the embedding, ALiBi, GELU without a gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN, ARCH_ROWS_REQ(T_TOKEN_EMBD_NORM, T_TOKEN_EMBD_NORM),
};

static void alibi(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->alibi_max = 8.0f;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.embd_norm = ARCH_EMBD_NORM_ROW,
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.adjust = alibi,
};

ARCH_DECODER_ARCH(bloom, traits, sets)
