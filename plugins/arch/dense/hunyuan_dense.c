/* SPDX-License-Identifier: MIT
 *
 * Hunyuan dense (model card tencent/Hunyuan-7B-Instruct): queries and keys are normalised after the
 * rotation; the rotation base may be scaled by alpha (NTK-aware: base * alpha^(d/(d-2))). */
#include <math.h>

#include "arch/common/checkpoint.h"
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,        ARCH_SET_QK_NORM,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_ROPE_FREQS,
};

void arch_hunyuan_alpha(struct arch_hparams *hp, struct arch_keys *k)
{
	double alpha = arch_key_f64(k, "rope.scaling.alpha", ARCH_OPTIONAL, 0.0, 0.0, 1e9);
	double d = hp->layer[0].dk;

	if (alpha <= 0.0 || d <= 2.0)
		return;
	hp->rope[ARCH_ROPE_FULL].base *= pow(alpha, d / (d - 2.0));
	hp->rope[ARCH_ROPE_WINDOW] = hp->rope[ARCH_ROPE_FULL];
}

static const struct lmd_checkpoint_map checkpoints[] = {
	{.type = "hunyuan_v1_dense",
	 .arch = "hunyuan-dense",
	 .rows = {&arch_ckpt_head, &arch_ckpt_attn, &arch_ckpt_glu, &arch_ckpt_query_norms}},
};

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES},
	.qk_norm = ARCH_QKN_HEAD,
	.qk_norm_after = true,
	.adjust = arch_hunyuan_alpha,
	.checkpoints = ARCH_CKPT_MAPS(checkpoints),
};

ARCH_DECODER_ARCH(hunyuan_dense, traits, sets)
