/* SPDX-License-Identifier: MIT
 *
 * MiniCPM (arXiv 2404.06395): LLaMA with scaled embeddings, residuals and logits (muP).  The three
 * keys default to the values below, which depend on depth and width. */
#include <math.h>

#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_SET_MOE,
	LMI_SET_ROPE_FACTORS,
};

static void scales(struct lmi_hparams *hp, struct lmi_keys *k)
{
	double depth = 1.4 / sqrt((double)hp->n_layer), width = 256.0 / (double)hp->n_embd;

	hp->embd_scale = (float)lmi_key_f64(k, "embedding_scale", LMI_OPTIONAL, 12.0, 1e-6, 1e6);
	hp->embd_scale_ext = hp->embd_scale;
	hp->residual_scale =
		(float)lmi_key_f64(k, "residual_scale", LMI_OPTIONAL, depth, 1e-6, 1e6);
	/* the file has a divisor */
	hp->logit_scale =
		(float)(1.0 / lmi_key_f64(k, "logit_scale", LMI_OPTIONAL, width, 1e-6, 1e6));
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true},
	.adjust = scales,
};

LMI_DECODER_ARCH(minicpm, traits, sets)
