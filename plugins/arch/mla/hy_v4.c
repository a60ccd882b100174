/* SPDX-License-Identifier: MIT
 *
 * HY 4 (hy_v4): latent attention with sinks and a gate per column, over the keys chosen by an
 * indexer if the file has one; clamped routed experts and shared ones.
 *
 * Residual: several streams (hyper-connections, arXiv 2409.19606).  A block reads a weighted sum of
 * the streams, and its result is added to each stream with a separate weight; all weights are
 * computed from the streams. */
#include "arch/mla/indexer.h"
#include "arch/mla/mla.h"

#define HC_MAX 8u

struct hyv4 {
	struct arch_decoder d;
	uint32_t hc;
	float eps, magnitude;
	double *clamp;        /* [n_layer] clamp of routed experts; 0: none */
};

enum { D_HC = D_IDX_END, D_HC_E, D_HC_MIX };
enum { O_FN, O_BASE, O_SCALE, A_FN, A_BASE, A_SCALE, F_FN, F_BASE, F_SCALE, N_ROW };
#define GLB(stem, d0, d1)                                                                          \
	{                                                                                          \
		stem, {d0, d1}, LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL, LMD_SPLIT_REPLICATE, 0,   \
			NULL                                                                       \
	}
#define ROW(stem, d0, d1)                                                                          \
	{                                                                                          \
		"blk.%d." stem, {d0, d1}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE, 0, NULL        \
	}

static const struct lmd_tensor_row rows[N_ROW] = {
	[O_FN] = GLB("output_hc_fn", D_HC_E, D_HC),
	[O_BASE] = GLB("output_hc_base", D_HC, 0),
	[O_SCALE] = GLB("output_hc_scale", LMD_DIM(1), 0),
	[A_FN] = ROW("hc_attn_fn", D_HC_E, D_HC_MIX),
	[A_BASE] = ROW("hc_attn_base", D_HC_MIX, 0),
	[A_SCALE] = ROW("hc_attn_scale", LMD_DIM(2), 0),
	[F_FN] = ROW("hc_ffn_fn", D_HC_E, D_HC_MIX),
	[F_BASE] = ROW("hc_ffn_base", D_HC_MIX, 0),
	[F_SCALE] = ROW("hc_ffn_scale", LMD_DIM(2), 0),
};
static const struct lmd_tensor_row gate_row = {"blk.%d.attn_gate",  {D_EMBD, D_MLA_O},
					       LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA, LMD_SPLIT_HEADS,
					       ARCH_L_ATTN,         NULL};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,     ARCH_SET_ATTN_NORM,
	ARCH_SET_MLA,        ARCH_ROWS_REQ(T_ATTN_SINKS, T_ATTN_SINKS),
	{&gate_row, 1, 0},   ARCH_SET_INDEXER,
	ARCH_ROWS_OWN(rows), ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,        ARCH_SET_MOE,
	ARCH_SET_SHEXP,
};

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct hyv4 *m = state;

	switch (symbol) {
	case D_HC:
		return m->hc;
	case D_HC_E:
		return (int64_t)m->hc * m->d.hp.n_embd;
	case D_HC_MIX:
		return 2 * (int64_t)m->hc;
	default:
		return arch_dsa_dim(state, symbol, layer);
	}
}

/* ---- description ---- */

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	bool index =
		arch_key_u32(k, "attention.indexer.top_k", ARCH_OPTIONAL, 0, 0, ARCH_MAX_CTX) > 0;
	struct arch_sparse_mla *d = arch_dsa_read(hp, k, index);
	uint32_t *type = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*type));

	if (!d || !type)
		return;
	d->rope_last = true;
	d->eps = hp->eps;
	d->m.sinks = &arch_rows[T_ATTN_SINKS];
	d->m.gate = &gate_row;
	hp->rope[ARCH_ROPE_INDEX] = hp->rope[ARCH_ROPE_FULL];
	if (!index)
		return;
	(void)arch_key_u32s(k, "attention.indexer.types", ARCH_OPTIONAL, type, hp->n_layer, 1, 0,
			    1);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		if (type[il])
			arch_dsa_layer(hp, il);
	}
	if (k->st == LMD_OK && !type[0])
		arch_key_fail(k, LMD_INVALID,
			      "%s.attention.indexer.types: layer 0 must have an indexer",
			      hp->model->arch);
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_ADJACENT,
	       .route_fn = LMD_ROUTE_SIGMOID,
	       .route_by_key = true},
	.own_plan = true,
	.adjust = adjust,
	.memory = arch_dsa_memory,
};

static void read_streams(struct hyv4 *m, struct arch_keys *k)
{
	struct arch_hparams *hp = &m->d.hp;

	m->hc = arch_key_u32(k, "hyper_connection.count", ARCH_REQUIRED, 1, 1, HC_MAX);
	m->eps = (float)arch_key_f64(k, "hyper_connection.epsilon", ARCH_REQUIRED, 0.0, 0.0, 1.0);
	m->magnitude =
		(float)arch_key_f64(k, "hyper_connection.magnitude", ARCH_REQUIRED, 1.0, -1e6, 1e6);
	m->clamp = arch_hp_alloc(hp, k, hp->n_layer, sizeof(*m->clamp));
	if (m->clamp)
		(void)arch_key_f64s(k, "swiglu_clamp_exp", ARCH_OPTIONAL, m->clamp, hp->n_layer,
				    0.0, 0.0, 1e9);
	if (k->st == LMD_OK && (uint64_t)m->hc * hp->n_embd > ARCH_KEY_MAX_WIDTH)
		arch_key_fail(k, LMD_INVALID,
			      "%s.hyper_connection.count: %u streams of %u columns; the product "
			      "must be at most %u",
			      hp->model->arch, m->hc, hp->n_embd, ARCH_KEY_MAX_WIDTH);
}

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	struct arch_keys k;
	struct hyv4 *m;

	arch_keys_init(&k, model, err);
	m = (struct hyv4 *)arch_decoder_open(sizeof(*m), &traits, &k, host, arena, params);
	if (!m)
		return k.st;
	read_streams(m, &k);
	return arch_decoder_close(&m->d, &k, sets, LMD_LEN(sets), params, out);
}

/* ---- streams ---- */

struct mixes {
	uint32_t pre, post;   /* values; post LMD_NONE at the end of the model */
};

/* times * sigmoid(scale * x + base) + eps for one part (pre or post) of the coefficients. */
static uint32_t coefficient(struct arch_emit *e, const struct hyv4 *m, uint32_t mix, uint32_t part,
			    uint32_t base, uint32_t scale, float times)
{
	const uint32_t hc = m->hc;
	uint32_t y = arch_value_f32(e, hc, part ? "hc_post" : "hc_pre");
	struct lmd_operand s = arch_operand_weight_cols(arch_weight_req(e, &rows[scale]).id, 1);
	struct lmd_operand b = arch_operand_weight_cols(arch_weight_req(e, &rows[base]).id, hc);
	struct arch_ew p = arch_ew();
	uint8_t x = arch_ew_in(&p, arch_operand_cols(mix, part * hc, hc)), rs, rb;

	s.col0 = part;
	b.col0 = part * hc;
	rs = arch_ew_in(&p, s);
	rb = arch_ew_in(&p, b);
	x = arch_ew1(&p, LMD_EW_SIGMOID, arch_ew3(&p, LMD_EW_FMA, x, rs, rb));
	rb = arch_ew_const(&p, m->eps);
	x = arch_ew3(&p, LMD_EW_FMA, x, arch_ew_const(&p, times), rb);
	arch_ew_out(e, &p, x, arch_operand_all(e, y));
	return y;
}

static struct mixes mixes(struct arch_emit *e, const struct hyv4 *m, uint32_t xs, uint32_t fn,
			  bool block)
{
	const struct lmd_norm norm = {.kind = LMD_NORM_RMS, .eps = m->d.hp.eps};
	struct arch_weight w = arch_weight_req(e, &rows[fn]);
	uint32_t mix = arch_linear(e, arch_operand_all(e, xs), &norm, &w, LMD_VTYPE_F32, "hc_mix");
	struct mixes c = {.post = LMD_NONE};

	c.pre = coefficient(e, m, mix, 0, fn + 1, fn + 2, 1.0f);
	if (block)
		c.post = coefficient(e, m, mix, 1, fn + 1, fn + 2, m->magnitude);
	return c;
}

static uint32_t collect(struct arch_emit *e, const struct hyv4 *m, uint32_t xs, uint32_t pre)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = arch_value_f32(e, w, "hc_in");
	struct lmd_op op = arch_op_empty(LMD_OP_MIX);

	op.u.mix.x = arch_operand_heads(xs, 0, m->hc, w);
	op.u.mix.c = arch_operand_heads(pre, 0, 1, m->hc);
	op.u.mix.y = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	return y;
}

/* stream[i] += post[i] * z */
static uint32_t add_to_streams(struct arch_emit *e, const struct hyv4 *m, uint32_t xs, uint32_t z,
			       uint32_t post)
{
	const uint32_t w = m->d.hp.n_embd;
	uint32_t y = arch_value_f32(e, m->hc * w, "streams");
	struct lmd_op op = arch_op_empty(LMD_OP_MIX);

	op.u.mix.x = arch_operand_heads(xs, 0, m->hc, w);
	op.u.mix.d = arch_operand_all(e, post);
	op.u.mix.z = arch_operand_all(e, z);
	op.u.mix.y = arch_operand_heads(y, 0, m->hc, w);
	arch_emit_op(e, &op);
	return y;
}

/* ---- the plan ---- */

static uint32_t feed_forward(struct arch_emit *e, const struct hyv4 *m,
			     const struct arch_block_io *io)
{
	struct arch_moe moe = arch_moe_default(e);

	if (!(arch_current_layer(e)->cls & ARCH_L_MOE))
		return arch_decoder_ffn_block(e, &m->d, io);
	if (m->clamp[e->il] > 0.0) {
		moe.act = LMD_ACT_FN_SILU_CLAMP_IN;
		moe.p[0] = (float)m->clamp[e->il];
	}
	return arch_moe(e, io, &moe);
}

static uint32_t layer(struct arch_emit *e, const struct hyv4 *m, uint32_t xs)
{
	const struct arch_sparse_mla *dsa = m->d.hp.arch_data;
	struct mixes c = mixes(e, m, xs, A_FN, true);
	struct arch_block_io io = {.res = LMD_NONE, .a = 1.0f};

	io.x = arch_operand_all(e, collect(e, m, xs, c.pre));
	io.norm = arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_ATTN_NORM]);
	xs = add_to_streams(e, m, xs, arch_mla(e, &io, &dsa->m, LMD_NONE), c.post);
	c = mixes(e, m, xs, F_FN, true);
	io.x = arch_operand_all(e, collect(e, m, xs, c.pre));
	io.norm = arch_norm_req(e, LMD_NORM_RMS, &arch_rows[T_FFN_NORM]);
	return add_to_streams(e, m, xs, feed_forward(e, m, &io), c.post);
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	const struct hyv4 *m = state;
	const uint32_t w = m->d.hp.n_embd;
	struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);
	struct arch_residual s = {.z = LMD_NONE, .a = 1.0f};
	struct lmd_norm norm;
	struct arch_emit e;
	uint32_t xs;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED, "architecture hy_v4: plan kind %u, expected %d",
			key->kind, LMD_PLAN_FORWARD);
		return LMD_UNSUPPORTED;
	}
	arch_emit_init(&e, b, &m->d.hp, key);
	op.u.cast_copy.x = arch_operand_heads(arch_embed(&e), 0, m->hc, w);
	op.u.cast_copy.x.head_stride = 0; /* every stream starts as the embedding */
	xs = arch_value_f32(&e, m->hc * w, "streams");
	op.u.cast_copy.y = arch_operand_heads(xs, 0, m->hc, w);
	arch_emit_op(&e, &op);
	for (uint32_t il = 0; il < m->d.hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		arch_set_layer(&e, (int32_t)il);
		xs = layer(&e, m, xs);
	}
	arch_set_layer(&e, -1);
	s.x = collect(&e, m, xs, mixes(&e, m, xs, O_FN, false).pre);
	norm = arch_norm_req(&e, LMD_NORM_RMS, &arch_rows[T_OUTPUT_NORM]);
	arch_emit_outputs(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_hy_v4 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
};
