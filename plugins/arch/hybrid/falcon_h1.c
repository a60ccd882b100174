/* SPDX-License-Identifier: MIT
 *
 * Falcon-H1 (arXiv 2507.22448): in every layer, attention and a Mamba-2 mixer read the same
 * normalised stream, and both add to it.  The multipliers of the paper are folded into the
 * weights. */
#include "arch/hybrid/hybrid.h"

/* in files the name has no ".weight" */
static const struct lmd_tensor_row ffn_norm_rows[] = {
	{"blk.%d.ffn_norm", {D_EMBD}, LMD_TENSOR_REQUIRED | LMD_TENSOR_BARE, LMD_SPLIT_REPLICATE, 0,
	 NULL},
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_HYBRID_NORM, LMI_SET_MAMBA2, LMI_SET_QKV, LMI_OWN(ffn_norm_rows),
	LMI_SET_FFN, LMI_SET_ROPE_FREQS,
};

static void both(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_hybrid_mamba2(hp, k);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & LMI_L_ATTN))
			lmi_key_fail(k, LMD_UNSUPPORTED,
				     "falcon-h1.attention.head_count_kv: 0 in layer %u, expected "
				     "at least 1",
				     il);
		hp->layer[il].cls |= LMI_L_RECURRENT;
	}
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_hybrid_norm_rows[0]);
	struct lmi_io io = lmi_read(e, s, &norm);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);

	io.x = lmi_normed(e, &io, "attn_norm");
	io.norm = lmi_no_norm();
	io.res = lmi_attn(e, &io, &a);
	s->x = lmi_hybrid_mamba2_mixer(e, d, &io);
	norm = lmi_norm_req(e, LMD_NORM_RMS, &ffn_norm_rows[0]);
	io = lmi_read(e, s, &norm);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .no_rope_factors = true},
	.out_bias_ignored = true,
	.adjust = both,
	.memory = lmi_hybrid_mamba2_memory,
	.layer = layer,
};

LMI_HYBRID_ARCH(falcon_h1, traits, sets)
