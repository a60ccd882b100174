/* SPDX-License-Identifier: MIT
 *
 * Hunyuan dense (model card tencent/Hunyuan-7B-Instruct): queries and keys are normalised after the
 * rotation; the rotation base may be scaled by alpha (NTK-aware: base * alpha^(d/(d-2))). */
#include <math.h>

#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_QK_NORM, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_ROPE_FREQS,
};

void lmi_hunyuan_alpha(struct lmi_hparams *hp, struct lmi_keys *k)
{
	double alpha = lmi_key_f64(k, "rope.scaling.alpha", LMI_OPTIONAL, 0.0, 0.0, 1e9);
	double d = hp->layer[0].dk;

	if (alpha <= 0.0 || d <= 2.0)
		return;
	hp->rope[LMI_ROPE_FULL].base *= pow(alpha, d / (d - 2.0));
	hp->rope[LMI_ROPE_WINDOW] = hp->rope[LMI_ROPE_FULL];
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = LMI_QKN_HEAD,
	.qk_norm_after = true,
	.adjust = lmi_hunyuan_alpha,
};

LMI_DECODER_ARCH(hunyuan_dense, traits, sets)
