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
	ARCH_SET_GLOBAL,     ARCH_SET_HYBRID_NORM,         ARCH_SET_MAMBA2,
	ARCH_SET_QKV,        ARCH_ROWS_OWN(ffn_norm_rows), ARCH_SET_FFN,
	ARCH_SET_ROPE_FREQS,
};

static void declare_memory(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_hybrid_mamba2(hp, k);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (!(hp->layer[il].cls & ARCH_L_ATTN))
			arch_key_fail(k, LMD_UNSUPPORTED,
				      "falcon-h1.attention.head_count_kv: 0 in layer %u, expected "
				      "at least 1",
				      il);
		hp->layer[il].cls |= ARCH_L_RECURRENT;
	}
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &arch_hybrid_norm_rows[0]);
	struct arch_block_io io = arch_residual_read(e, s, &norm);
	struct arch_attn a = arch_decoder_attn(e, d, pass);

	io.x = arch_normalised_input(e, &io, "attn_norm");
	io.norm = arch_no_norm();
	io.res = arch_attn(e, &io, &a);
	s->x = arch_hybrid_mamba2_mixer(e, d, &io);
	norm = arch_norm_req(e, LMD_NORM_RMS, &ffn_norm_rows[0]);
	io = arch_residual_read(e, s, &norm);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .no_rope_factors = true},
	.out_bias_ignored = true,
	.adjust = declare_memory,
	.memory = arch_hybrid_mamba2_memory,
	.layer = layer,
};

ARCH_HYBRID_ARCH(falcon_h1, traits, sets)
