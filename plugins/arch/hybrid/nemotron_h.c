/* SPDX-License-Identifier: MIT
 *
 * Nemotron-H (arXiv 2504.03624) and Nemotron 3 with experts (model card
 * nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16): every layer is a norm and a single block: Mamba-2,
 * attention without rotation, or a feed-forward block with squared ReLU and no gate.  Experts may
 * work on a narrower row than the stream; the shared expert does not.  A draft layer has attention and then experts, with
 * a norm each, and a LayerNorm before its head. */
#include "arch/hybrid/hybrid.h"

enum { D_LATENT = D_OWN, D_EXP_IN };

static const struct lmd_tensor_row latent_rows[] = {
	{"blk.%d.ffn_latent_down", {D_EMBD, D_LATENT}, 0, LMD_SPLIT_REPLICATE, ARCH_L_MOE, NULL},
	{"blk.%d.ffn_latent_up", {D_LATENT, D_EMBD}, 0, LMD_SPLIT_REPLICATE, ARCH_L_MOE, NULL},
};
enum { X_UP, X_DOWN };
static const struct lmd_tensor_row expert_rows[] = {
	[X_UP] = {"blk.%d.ffn_up_exps",
		  {D_EXP_IN, D_FF_EXP, D_EXPERT},
		  LMD_TENSOR_REQUIRED | LMD_TENSOR_SCALE | LMD_TENSOR_PER_EXPERT | LMD_TENSOR_LORA,
		  LMD_SPLIT_EXPERTS,
		  ARCH_L_MOE,
		  "blk.%d.ffn_up.%d"},
	[X_DOWN] = {"blk.%d.ffn_down_exps",
		    {D_FF_EXP, D_EXP_IN, D_EXPERT},
		    LMD_TENSOR_REQUIRED | LMD_TENSOR_SCALE | LMD_TENSOR_PER_EXPERT | LMD_TENSOR_LORA,
		    LMD_SPLIT_EXPERTS,
		    ARCH_L_MOE,
		    "blk.%d.ffn_down.%d"},
};

#define SETS                                                                                       \
	ARCH_SET_GLOBAL, ARCH_SET_HYBRID_NORM, ARCH_SET_MAMBA2, ARCH_SET_QKV, ARCH_SET_FFN_PLAIN

static const struct lmd_tensor_set sets[] = {SETS};
static const struct lmd_tensor_set sets_moe[] = {
	SETS,
	ARCH_ROWS_REQ(T_FFN_GATE_INP, T_FFN_GATE_INP),
	ARCH_ROWS_OWN(expert_rows),
	ARCH_ROWS_OWN(latent_rows),
	ARCH_ROWS_REQ(T_EXP_PROBS_B, T_EXP_PROBS_B),
	ARCH_ROWS_REQ(T_FFN_UP_SHEXP, T_FFN_DOWN_SHEXP),
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	const uint32_t ffn = ARCH_L_DENSE | ARCH_L_MOE | ARCH_L_SHEXP;
	struct arch_hybrid *h = arch_hybrid(hp);
	uint32_t latent =
		arch_key_u32(k, "moe_latent_size", ARCH_OPTIONAL, 0, 0, ARCH_KEY_MAX_WIDTH);

	arch_ssm_read(&h->ssm, hp, k, 2);
	h->dims[D_LATENT - D_OWN] = latent;
	h->dims[D_EXP_IN - D_OWN] = latent ? latent : hp->n_embd;
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (l->n_ff)
			l->cls &= ffn;
		else
			l->cls = l->cls & ARCH_L_ATTN ? ARCH_L_ATTN : ARCH_L_RECURRENT;
	}
}

static void moe(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	(void)e;
	(void)d;
	m->gate = m->gate_up = NULL;
	m->up = &expert_rows[X_UP];
	m->down = &expert_rows[X_DOWN];
	m->shared.gate = NULL;
	m->latent_down = &latent_rows[0];
	m->latent_up = &latent_rows[1];
}

static void draft(struct arch_hparams *hp, uint32_t il)
{
	hp->layer[il].cls |= ARCH_L_MOE | ARCH_L_SHEXP;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct arch_block_io io;
	struct lmd_norm n;
	struct arch_attn a;

	if ((uint32_t)e->il < d->hp.n_layer) {
		arch_decoder_layer(e, d, s, pass);
		return;
	}
	n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	io = arch_residual_read(e, s, &n);
	a = arch_decoder_attn(e, d, pass);
	s->x = arch_attn(e, &io, &a);
	n = arch_decoder_norm(e, d, 0, T_POST_ATTN_NORM);
	io = arch_residual_read(e, s, &n);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

#define TRAITS                                                                                     \
	.hp = {.norm_kind = LMD_NORM_RMS,                                                          \
	       .eps_either = true,                                                                 \
	       .no_rope = true,                                                                    \
	       .n_head_zero = true,                                                                \
	       .route_fn = LMD_ROUTE_SIGMOID,                                                      \
	       .route_by_key = true},                                                              \
	.t_ffn_norm = T_ATTN_NORM, .act = LMD_ACT_FN_RELU2, .ffn_plain = true, .adjust = adjust,   \
	.memory = arch_hybrid_mamba2_memory, .moe = moe, .mixer = arch_hybrid_mamba2_mixer

static const struct arch_decoder_traits traits = {TRAITS};
static const struct arch_decoder_traits traits_moe = {
	TRAITS, .layer = layer, .draft_layer = true, .draft_norm = LMD_NORM_LAYER, .draft = draft,
};

ARCH_HYBRID_ARCH(nemotron_h, traits, sets)
ARCH_HYBRID_ARCH(nemotron_h_moe, traits_moe, sets_moe)
