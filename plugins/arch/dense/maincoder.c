/* SPDX-License-Identifier: MIT
 *
 * Maincoder (model card Maincode/Maincoder-1B): LLaMA with queries and keys normalised after the
 * rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,  ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_QK_NORM, ARCH_SET_FFN_NORM,  ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.qk_norm = ARCH_QKN_HEAD,
	.qk_norm_after = true,
};

ARCH_DECODER_ARCH(maincoder, traits, sets)
