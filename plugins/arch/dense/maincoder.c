/* SPDX-License-Identifier: MIT
 *
 * Maincoder (model card Maincode/Maincoder-1B): LLaMA with queries and keys normalised after the
 * rotation. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.qk_norm = LMI_QKN_HEAD,
	.qk_norm_after = true,
};

LMI_DECODER_ARCH(maincoder, traits, sets)
