/* SPDX-License-Identifier: MIT
 *
 * Refact (model card smallcloudai/Refact-1_6B-fim): LLaMA with ALiBi instead of rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static void alibi(struct lmi_hparams *hp, struct lmi_keys *k)
{
	(void)k;
	hp->alibi_max = 8.0f;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .no_rope = true},
	.adjust = alibi,
};

LMI_DECODER_ARCH(refact, traits, sets)
