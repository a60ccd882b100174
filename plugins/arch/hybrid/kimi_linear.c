/* SPDX-License-Identifier: MIT
 *
 * Kimi-Linear (arXiv 2510.26692): Kimi Delta Attention, and latent attention without rotation in
 * every fourth layer; leading dense layers, then shared and routed experts.
 *
 * If a file counts shared experts but does not have their tensors, silu(x) replaces them, as in the
 * reference implementation of the file format. */
#include "arch/hybrid/hybrid.h"

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,   ARCH_SET_HYBRID_NORM, ARCH_SET_KDA, ARCH_SET_MLA,
	ARCH_SET_FFN_NORM, ARCH_SET_FFN,         ARCH_SET_MOE, ARCH_SET_SHEXP,
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	struct arch_hybrid *h = arch_hybrid(hp);

	arch_kda_read(&h->kda, hp, k);
	arch_hybrid_layers(hp);
	h->mla = arch_mla_read(hp, k, arch_key_has(k, "attention.q_lora_rank"));
	arch_hybrid_shared(hp);
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].rope = LMD_NONE;
}

/* Sets the stream to x + silu(norm(x)), to which the routed experts then add. */
static void silu_shared(struct arch_emit *e, struct arch_block_io *io)
{
	const uint32_t n = io->x.width;
	uint32_t z = arch_value_act(e, n, "shared"), x = arch_value_f32(e, n, "x_shared");

	io->x = arch_normalised_input(e, io, "ffn_norm");
	io->norm = arch_no_norm();
	arch_put_glu(e, LMD_ACT_FN_SILU, NULL, io->x, arch_operand_none(), arch_operand_all(e, z));
	arch_put_scale_add(e, arch_operand_all(e, z), 1.0f, arch_operand_cols(io->res, 0, n),
			   arch_operand_all(e, x));
	io->res = x;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	uint32_t cls = arch_current_layer(e)->cls;
	struct lmd_norm norm;
	struct arch_block_io io;

	(void)pass;
	arch_hybrid_kda_mixer(e, d, s);
	norm = arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_FFN_NORM]);
	io = arch_residual_read(e, s, &norm);
	if ((cls & ARCH_L_MOE) && !(cls & ARCH_L_SHEXP) && d->hp.n_expert_shared)
		silu_shared(e, &io);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_renorm = true,
	       .route_by_key = true},
	.adjust = adjust,
	.memory = arch_hybrid_kda_memory,
	.layer = layer,
};

ARCH_HYBRID_ARCH(kimi_linear, traits, sets)
