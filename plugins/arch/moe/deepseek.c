/* SPDX-License-Identifier: MIT
 *
 * DeepSeekMoE (arXiv 2401.06066): LLaMA with leading dense layers, then fine-grained and shared
 * experts.  deepseek2-ocr is the text model of DeepSeek-OCR (arXiv 2510.18234): DeepSeekMoE with
 * NeoX-style rotation and a router configured by the file. */
#include "arch/moe/moe.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_SHEXP, LMI_SET_ROPE_FACTORS,
};

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_scaled = true},
};
LMI_DECODER_ARCH(deepseek, traits, sets)

/* Rejects files with a window: theirs must keep the image visible, which is not implemented. */
static void no_window(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t n = lmi_key_u32(k, "attention.sliding_window", LMI_OPTIONAL, 0, 0, LMI_MAX_CTX);

	if (n)
		lmi_key_fail(k, LMD_UNSUPPORTED,
			     "%s.attention.sliding_window: %u; only full attention is supported",
			     hp->model->arch, n);
}

static const struct lmi_decoder_traits ocr_traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .route_by_key = true},
	.adjust = no_window,
};
LMI_DECODER_ARCH(deepseek2_ocr, ocr_traits, sets)
