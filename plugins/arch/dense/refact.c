/* SPDX-License-Identifier: MIT
 *
 * Refact (model card smallcloudai/Refact-1_6B-fim): LLaMA with ALiBi instead of rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN,
};

static void alibi(struct arch_hparams *hp, struct arch_keys *k)
{
	(void)k;
	hp->alibi_max = 8.0f;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .no_rope = true},
	.adjust = alibi,
};

ARCH_DECODER_ARCH(refact, traits, sets)
