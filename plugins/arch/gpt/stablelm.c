/* SPDX-License-Identifier: MIT
 *
 * StableLM 2 (arXiv 2402.17834): LLaMA with LayerNorm and partial rotation.  The 12B model
 * normalises queries and keys per head and has no ffn_norm: its blocks are parallel. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_OPT(T_ATTN_Q_NORM_EACH, T_ATTN_K_NORM_EACH),
	ARCH_ROWS_OPT(T_FFN_NORM, T_FFN_NORM),
	ARCH_SET_FFN,
};

static void read_norm_placement(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	if (arch_hp_tensor(hp, "blk.0.ffn_norm.weight") == LMD_NONE)
		hp->norm_placement = ARCH_NORM_PARALLEL;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = ARCH_QKN_HEAD_OWN,
	.qk_norm_kind = LMD_NORM_LAYER,
	.adjust = read_norm_placement,
};

ARCH_DECODER_ARCH(stablelm, traits, sets)
