/* SPDX-License-Identifier: MIT
 *
 * Nanbeige (model cards Nanbeige/Nanbeige4-3B and its looped successors): the LLaMA block.  The
 * stack of layers may run several times over its own output; each pass has its own caches, and the
 * final norm is applied between passes. */
#include "arch/dense/dense.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_SET_FFN_NORM, LMI_SET_FFN,
	LMI_SET_ROPE_FREQS,
};

#define MAX_LOOP 16

static void loops(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->n_copy = lmi_key_u32(k, "num_loops", LMI_OPTIONAL, 1, 1, MAX_LOOP);
	/* 1: apply the final norm between passes */
	hp->own[0] = !lmi_key_bool(k, "skip_loop_final_norm", LMI_OPTIONAL, false);
}

static void between(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s)
{
	struct lmd_norm n;
	uint32_t y;

	if (!d->hp.own[0])
		return;
	n = lmi_decoder_norm(e, d, 0, T_OUTPUT_NORM);
	y = lmi_f32(e, d->hp.n_embd, "x_loop");
	lmi_put_norm(e, lmi_whole(e, lmi_flush(e, s)), &n, lmi_whole(e, y));
	s->x = y;
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT},
	.adjust = loops,
	.between = between,
};

LMI_DECODER_ARCH(nanbeige, traits, sets)
