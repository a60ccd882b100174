/* SPDX-License-Identifier: MIT
 *
 * Kimi-K3 (model card moonshotai/Kimi-K3): Kimi Delta Attention with a bounded decay, and gated
 * latent attention without rotation in some layers; leading dense layers, then routed experts on a
 * narrower row and a shared expert; SiTU instead of SwiGLU.
 *
 * Residual: every attn_res.block_size layers the stream is saved as a checkpoint and restarts with
 * the result of that layer's mixer.  Each block, and the end of the model, reads a mix of the
 * checkpoints and the stream, weighted by a softmax over the products of a learned row with their
 * RMS norms (attention residuals). */
#include <stdio.h>

#include "arch/hybrid/hybrid.h"

#define MIX_MAX 64u /* inputs of one LMD_OP_MIX */

enum { D_LATENT = D_OWN, D_EXP_IN };

#define R LMD_TENSOR_REQUIRED
#define S LMD_TENSOR_SCALE
#define EXPERTS(stem, d0, d1)                                                                      \
	{                                                                                          \
		"blk.%d.ffn_" stem "_exps", {d0, d1, D_EXPERT}, R | S | LMD_TENSOR_PER_EXPERT,     \
			LMD_SPLIT_EXPERTS, ARCH_L_MOE, "blk.%d.ffn_" stem ".%d"                    \
	}
#define ROW(stem, d0, d1, flags, split, when)                                                      \
	{stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, when, NULL}

enum {
	O_SCORE, A_SCORE, F_SCORE, X_GATE, X_UP, X_DOWN, LATENT_DOWN, LATENT_UP, LATENT_NORM, GATE,
	N_ROW
};
static const struct lmd_tensor_row rows[N_ROW] = {
	[O_SCORE] = ROW("output_res_score", D_EMBD, 0, LMD_TENSOR_GLOBAL, REPLICATE, 0),
	[A_SCORE] = ROW("blk.%d.attn_res_score", D_EMBD, 0, 0, REPLICATE, 0),
	[F_SCORE] = ROW("blk.%d.ffn_res_score", D_EMBD, 0, 0, REPLICATE, 0),
	[X_GATE] = EXPERTS("gate", D_EXP_IN, D_FF_EXP),
	[X_UP] = EXPERTS("up", D_EXP_IN, D_FF_EXP),
	[X_DOWN] = EXPERTS("down", D_FF_EXP, D_EXP_IN),
	[LATENT_DOWN] = ROW("blk.%d.ffn_routed_down", D_EMBD, D_LATENT, S, REPLICATE, ARCH_L_MOE),
	[LATENT_UP] = ROW("blk.%d.ffn_routed_up", D_LATENT, D_EMBD, S, REPLICATE, ARCH_L_MOE),
	[LATENT_NORM] = ROW("blk.%d.ffn_routed_norm", D_LATENT, 0, 0, REPLICATE, ARCH_L_MOE),
	[GATE] = ROW("blk.%d.attn_gate", D_EMBD, D_MLA_O, S, HEADS, ARCH_L_ATTN),
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_HYBRID_NORM,
	ARCH_SET_KDA,
	ARCH_SET_MLA,
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_FFN_GATE_INP, T_FFN_GATE_INP),
	ARCH_ROWS_REQ(T_EXP_PROBS_B, T_EXP_PROBS_B),
	ARCH_SET_SHEXP,
	ARCH_ROWS_OWN(rows),
};

/* Indices into arch_u32 and arch_values.  hp->arch_u32[BLOCK]: layers per checkpoint, 0: ordinary
 * residual stream. e->arch_values[CHECKPOINTS]: the value that holds the checkpoints side by
 * side. */
enum { BLOCK };
enum { CHECKPOINTS };

static uint32_t n_checkpoint(const struct arch_hparams *hp, uint32_t n_layer)
{
	return hp->arch_u32[BLOCK] ? (n_layer + hp->arch_u32[BLOCK] - 1) / hp->arch_u32[BLOCK] : 0;
}

/* Does latent attention have an output gate? */
static bool has_gate(const struct arch_hparams *hp)
{
	char name[64];

	for (uint32_t il = 0; il < hp->n_layer; il++) {
		(void)snprintf(name, sizeof(name), "blk.%u.attn_gate.weight", il);
		if (arch_hp_tensor(hp, name) != LMD_NONE)
			return true;
	}
	return false;
}

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t latent =
		arch_key_u32(k, "expert_latent_length", ARCH_OPTIONAL, 0, 0, ARCH_KEY_MAX_WIDTH);
	struct arch_hybrid *h = arch_hybrid(hp);
	struct arch_mla *m;

	hp->arch_u32[BLOCK] =
		arch_key_u32(k, "attn_res.block_size", ARCH_REQUIRED, 0, 0, ARCH_MAX_LAYER);
	h->situ[0] = (float)arch_key_f64(k, "activation.situ_beta", ARCH_REQUIRED, 1.0, 1e-6, 1e6);
	h->situ[1] = (float)arch_key_f64(k, "activation.situ_linear_beta", ARCH_REQUIRED, 0.0, -1e6,
					 1e6);
	h->dims[D_LATENT - D_OWN] = latent;
	h->dims[D_EXP_IN - D_OWN] = latent ? latent : hp->n_embd;
	if (n_checkpoint(hp, hp->n_layer) > MIX_MAX)
		arch_key_fail(
			k, LMD_UNSUPPORTED,
			"%s.attn_res.block_size: %u gives %u checkpoints for %u layers, maximum %u",
			hp->model->arch, hp->arch_u32[BLOCK], n_checkpoint(hp, hp->n_layer),
			hp->n_layer, MIX_MAX);
	arch_kda_read(&h->kda, hp, k);
	arch_hybrid_layers(hp);
	arch_hybrid_shared(hp);
	m = arch_mla_read(hp, k, arch_key_has(k, "attention.q_lora_rank"));
	if (m && has_gate(hp))
		m->gate = &rows[GATE];
	h->mla = m;
	for (uint32_t il = 0; il < hp->n_layer; il++)
		hp->layer[il].rope = LMD_NONE;
}

/* ---- the residual ---- */

static void put_scores(struct arch_emit *e, struct lmd_operand x, const struct arch_weight *w,
		       struct lmd_operand y)
{
	const struct lmd_norm norm = arch_norm(e, LMD_NORM_RMS, NULL);

	arch_put_linear(e, x, &norm, w, y);
}

/* The input of a block: a mix of the stream x and the first n checkpoints. */
static uint32_t mixed(struct arch_emit *e, uint32_t x, uint32_t n, const struct lmd_tensor_row *row)
{
	const uint32_t width = e->hp->n_embd;
	struct lmd_operand old = arch_operand_heads(e->arch_values[CHECKPOINTS], 0, n, width);
	struct lmd_op op = arch_op_empty(LMD_OP_SOFTMAX);
	uint32_t score, share, y;
	struct arch_weight w;

	if (!n)
		return x;
	w = arch_weight_req(e, row);
	score = arch_value_f32(e, n + 1, "res_score");
	share = arch_value_f32(e, n + 1, "res_share");
	y = arch_value_f32(e, width, "res_mix");
	put_scores(e, old, &w, arch_operand_heads(score, 0, n, 1));
	put_scores(e, arch_operand_all(e, x), &w, arch_operand_cols(score, n, 1));
	op.u.softmax.x = arch_operand_all(e, score);
	op.u.softmax.y = arch_operand_all(e, share);
	arch_emit_op(e, &op);
	op = arch_op_empty(LMD_OP_MIX);
	op.u.mix.x = old;
	op.u.mix.c = arch_operand_cols(share, 0, n);
	op.u.mix.d = arch_operand_cols(share, n, 1);
	op.u.mix.z = arch_operand_all(e, x);
	op.u.mix.y = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	return y;
}

/* Saves the stream as checkpoint i. */
static void save_checkpoint(struct arch_emit *e, uint32_t x, uint32_t i)
{
	struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);

	if (!i)
		e->arch_values[CHECKPOINTS] = arch_value_f32(
			e, n_checkpoint(e->hp, e->hp->n_layer) * e->hp->n_embd, "res_kept");
	op.u.cast_copy.x = arch_operand_all(e, x);
	op.u.cast_copy.y =
		arch_operand_cols(e->arch_values[CHECKPOINTS], i * e->hp->n_embd, e->hp->n_embd);
	arch_emit_op(e, &op);
}

static struct arch_block_io enter(struct arch_emit *e, const struct arch_residual *s, uint32_t n,
				  const struct lmd_tensor_row *score,
				  const struct lmd_tensor_row *norm)
{
	return (struct arch_block_io){.x = arch_operand_all(e, mixed(e, s->x, n, score)),
				      .norm = arch_norm_req(e, LMD_NORM_RMS, norm),
				      .res = s->x,
				      .a = 1.0f};
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	const struct arch_hybrid *h = d->hp.arch_data;
	const uint32_t block = d->hp.arch_u32[BLOCK], il = (uint32_t)e->il;
	uint32_t n = n_checkpoint(&d->hp, il);
	struct arch_block_io io = enter(e, s, n, &rows[A_SCORE], &arch_hybrid_norm_rows[0]);

	(void)pass;
	if (block && il % block == 0) {
		save_checkpoint(e, s->x, n++);
		io.res = LMD_NONE;
	}
	s->x = arch_current_layer(e)->cls & ARCH_L_ATTN ? arch_mla(e, &io, h->mla, LMD_NONE)
							: arch_kda(e, &io, &h->kda);
	io = enter(e, s, n, &rows[F_SCORE], &arch_rows[T_FFN_NORM]);
	s->x = arch_decoder_ffn_block(e, d, &io);
}

static void after(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s)
{
	if ((uint32_t)e->il + 1 < d->hp.n_layer)
		return;
	arch_set_layer(e, -1);
	s->x = mixed(e, s->x, n_checkpoint(&d->hp, d->hp.n_layer), &rows[O_SCORE]);
}

/* ---- feed-forward ---- */

static void ffn(struct arch_emit *e, const struct arch_decoder *d, struct arch_ffn *f)
{
	const struct arch_hybrid *h = d->hp.arch_data;

	(void)e;
	f->p[0] = h->situ[0];
	f->p[1] = h->situ[1];
}

static void moe(struct arch_emit *e, const struct arch_decoder *d, struct arch_moe *m)
{
	const struct arch_hybrid *h = d->hp.arch_data;

	m->gate_up = NULL;
	m->gate = &rows[X_GATE];
	m->up = &rows[X_UP];
	m->down = &rows[X_DOWN];
	m->latent_down = h->dims[D_LATENT - D_OWN] ? &rows[LATENT_DOWN] : NULL;
	m->latent_up = &rows[LATENT_UP];
	m->latent_norm = arch_weight_exists(e, &rows[LATENT_NORM]) ? &rows[LATENT_NORM] : NULL;
	m->shared_gate = NULL;
	m->p[0] = h->situ[0];
	m->p[1] = h->situ[1];
	ffn(e, d, &m->shared);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_ADJACENT, .route_by_key = true},
	.act = LMD_ACT_FN_SITU,
	.adjust = adjust,
	.memory = arch_hybrid_kda_memory,
	.layer = layer,
	.after = after,
	.ffn = ffn,
	.moe = moe,
};

ARCH_HYBRID_ARCH(kimi_k3, traits, sets)
