/* SPDX-License-Identifier: MIT
 *
 * StableLM 2 (arXiv 2402.17834): LLaMA with LayerNorm and partial rotation.  The 12B model
 * normalises queries and keys per head and has no ffn_norm: its blocks are parallel. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_OPT(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH), LMI_OPT(T_FFN_NORM, T_FFN_NORM),
	LMI_SET_FFN,
};

static void place(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	if (lmi_hp_tensor(hp, "blk.0.ffn_norm.weight") == LMD_NONE)
		hp->place = LMI_PARALLEL;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = LMI_QKN_EACH,
	.qk_norm_kind = LMD_NORM_LAYER,
	.adjust = place,
};

LMI_DECODER_ARCH(stablelm, traits, sets)
