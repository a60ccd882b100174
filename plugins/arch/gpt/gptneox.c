/* SPDX-License-Identifier: MIT
 *
 * GPT-NeoX and Pythia (arXiv 2204.06745): LayerNorm, partial rotation; a key says whether the
 * blocks are parallel (each with its own norm) or sequential. */
#include "arch/gpt/gpt.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL, ARCH_SET_ATTN_NORM, ARCH_SET_QKV, ARCH_SET_FFN_NORM, ARCH_SET_FFN_PLAIN,
};

static void read_norm_placement(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->norm_placement = arch_key_bool(k, "use_parallel_residual", ARCH_REQUIRED, true)
				     ? ARCH_NORM_PARALLEL
				     : ARCH_NORM_PRE;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_LAYER, .rope_pairing = LMD_ROPE_HALVES},
	.act = LMD_ACT_FN_GELU,
	.ffn_plain = true,
	.adjust = read_norm_placement,
};

ARCH_DECODER_ARCH(gptneox, traits, sets)
