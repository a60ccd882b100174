/* SPDX-License-Identifier: MIT
 *
 * DeepSeekMoE (arXiv 2401.06066): LLaMA with leading dense layers, then fine-grained and shared
 * experts.  deepseek2-ocr is the text model of DeepSeek-OCR (arXiv 2510.18234): DeepSeekMoE with
 * NeoX-style rotation and a router configured by the file. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV,   ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,    ARCH_SET_MOE,       ARCH_SET_SHEXP, ARCH_SET_ROPE_FACTORS,
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_scaled = true},
};
ARCH_DECODER_ARCH(deepseek, traits, sets)

/* Rejects files with a window: theirs must keep the image visible, which is not implemented. */
static void no_window(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t n = arch_key_u32(k, "attention.sliding_window", ARCH_OPTIONAL, 0, 0, ARCH_MAX_CTX);

	if (n)
		arch_key_fail(k, LMD_UNSUPPORTED,
			      "%s.attention.sliding_window: %u; only full attention is supported",
			      hp->model->arch, n);
}

static const struct arch_decoder_traits ocr_traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_by_key = true},
	.adjust = no_window,
};
ARCH_DECODER_ARCH(deepseek2_ocr, ocr_traits, sets)
