/* SPDX-License-Identifier: MIT
 *
 * Orion (arXiv 2401.12246): LLaMA with LayerNorm. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
};

LMI_DECODER_ARCH(orion, traits, sets)
