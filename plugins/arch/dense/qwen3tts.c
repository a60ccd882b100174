/* SPDX-License-Identifier: MIT
 *
 * Qwen3-TTS talker (model card Qwen/Qwen3-TTS-12Hz-1.7B-Base): the Qwen3-VL block over speech
 * tokens. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_INTERLEAVED,
	       .sections_required = true},
	.qk_norm = LMI_QKN_HEAD,
};

LMI_DECODER_ARCH(qwen3tts, traits, sets)
