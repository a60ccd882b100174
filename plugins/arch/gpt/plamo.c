/* SPDX-License-Identifier: MIT
 *
 * PLaMo (model card pfnet/plamo-13b): both blocks share one norm; the query heads that share a key
 * head are adjacent. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.place = LMI_PARALLEL,
};

LMI_DECODER_ARCH(plamo, traits, sets)
