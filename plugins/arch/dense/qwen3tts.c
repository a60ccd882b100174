/* SPDX-License-Identifier: MIT
 *
 * Qwen3-TTS talker (model card Qwen/Qwen3-TTS-12Hz-1.7B-Base): the Qwen3-VL block over speech
 * tokens. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,  ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_QK_NORM, ARCH_SET_FFN_NORM,  ARCH_SET_FFN,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .sections_kind = LMD_SECTIONS_INTERLEAVED,
	       .sections_required = true},
	.qk_norm = ARCH_QKN_HEAD,
};

ARCH_DECODER_ARCH(qwen3tts, traits, sets)
