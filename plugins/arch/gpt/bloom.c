/* SPDX-License-Identifier: MIT
 *
 * BLOOM (arXiv 2211.05100): LayerNorm after the embedding, ALiBi, GELU without a gate. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
	LMI_REQ(T_TOKEN_EMBD_NORM, T_TOKEN_EMBD_NORM),
};

static void alibi(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->alibi_max = 8.0f;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .no_rope = true},
	.embd_norm = LMI_EMBD_NORM_ROW,
	.act = LMD_ACT_GELU,
	.ffn_plain = true,
	.adjust = alibi,
};

LMI_DECODER_ARCH(bloom, traits, sets)
