/* SPDX-License-Identifier: MIT
 *
 * GPT-NeoX and Pythia (arXiv 2204.06745): LayerNorm, partial rotation; a key says whether the
 * blocks are parallel (each with its own norm) or sequential. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN_PLAIN,
};

static void place(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->place = lmi_key_bool(k, "use_parallel_residual", LMI_REQUIRED, true) ? LMI_PARALLEL
										 : LMI_PRE;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_GELU,
	.ffn_plain = true,
	.adjust = place,
};

LMI_DECODER_ARCH(gptneox, traits, sets)
