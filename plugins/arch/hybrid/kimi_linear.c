/* SPDX-License-Identifier: MIT
 *
 * Kimi-Linear (arXiv 2510.26692): Kimi Delta Attention, and latent attention without rotation in
 * every fourth layer; leading dense layers, then shared and routed experts.
 *
 * If a file counts shared experts but does not have their tensors, silu(x) replaces them, as in the
 * reference implementation of the file format. */
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_HYBRID_NORM, LMI_SET_KDA, LMI_SET_MLA, LMI_SET_FFN_NORM,
	LMI_SET_FFN, LMI_SET_MOE, LMI_SET_SHEXP,
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	struct lmi_hybrid *h = lmi_hybrid(hp);

	lmi_kda_read(&h->kda, hp, k);
	lmi_hybrid_layers(hp);
	h->mla = lmi_mla_read(hp, k, lmi_key_has(k, "attention.q_lora_rank"));
	lmi_hybrid_shared(hp);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].rope = LMD_NONE;
}

/* Sets the stream to x + silu(norm(x)), to which the routed experts then add. */
static void silu_shared(struct lmi_emit *e, struct lmi_io *io)
{
	const uint32_t n = io->x.width;
	uint32_t z = lmi_act(e, n, "shared"), x = lmi_f32(e, n, "x_shared");

	io->x = lmi_normed(e, io, "ffn_norm");
	io->norm = lmi_no_norm();
	lmi_put_glu(e, LMD_ACT_SILU, NULL, io->x, lmi_none(), lmi_whole(e, z));
	lmi_put_scale_add(e, lmi_whole(e, z), 1.0f, lmi_cols(io->res, 0, n), lmi_whole(e, x));
	io->res = x;
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	uint32_t cls = lmi_cur(e)->cls;
	struct lmd_norm norm;
	struct lmi_io io;

	(void)pass;
	lmi_hybrid_kda_mixer(e, d, s);
	norm = lmi_norm_req(e, LMD_NORM_RMS, &lmi_rows[T_FFN_NORM]);
	io = lmi_read(e, s, &norm);
	if ((cls & LMI_L_MOE) && !(cls & LMI_L_SHEXP) && d->hp.n_expert_shared)
		silu_shared(e, &io);
	s->x = lmi_decoder_ffn_block(e, d, &io);
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_renorm = true,
	       .route_by_key = true},
	.adjust = adjust,
	.memory = lmi_hybrid_kda_memory,
	.layer = layer,
};

LMI_HYBRID_ARCH(kimi_linear, traits, sets)
