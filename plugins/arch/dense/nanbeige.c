/* SPDX-License-Identifier: MIT
 *
 * Nanbeige (model cards Nanbeige/Nanbeige4-3B and its looped successors): the LLaMA block.  The
 * stack of layers may run several times over its own output; each pass has its own caches, and the
 * final norm is applied between passes. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_ATTN_NORM, ARCH_SET_QKV,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,       ARCH_SET_ROPE_FREQS,
};

#define MAX_LOOP 16

static void loops(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->n_pass = arch_key_u32(k, "num_loops", ARCH_OPTIONAL, 1, 1, MAX_LOOP);
	/* 1: apply the final norm between passes */
	hp->arch_u32[0] = !arch_key_bool(k, "skip_loop_final_norm", ARCH_OPTIONAL, false);
}

static void between(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s)
{
	struct lmd_norm n;
	uint32_t y;

	if (!d->hp.arch_u32[0])
		return;
	n = arch_decoder_norm(e, d, 0, T_OUTPUT_NORM);
	y = arch_value_f32(e, d->hp.n_embd, "x_loop");
	arch_put_norm(e, arch_operand_all(e, arch_residual_flush(e, s)), &n,
		      arch_operand_all(e, y));
	s->x = y;
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.adjust = loops,
	.between = between,
};

ARCH_DECODER_ARCH(nanbeige, traits, sets)
