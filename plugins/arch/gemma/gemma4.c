/* SPDX-License-Identifier: MIT
 *
 * Gemma 4 (model cards google/gemma-4-E2B, -E4B, -26B-A4B, -31B).  Window layers have smaller heads
 * and their own rotation; full layers divide their frequencies by rope_freqs.  Values are
 * normalised; without attn_v in the file, the keys serve as values.  The last layers read the keys
 * of the last earlier layer of the same kind.  Optional: per-layer embeddings, which are added
 * through a gate after each layer; experts beside the dense block, each branch with its own norms;
 * a factor on the result of a layer. */
#include <math.h>

#include "arch/gemma/gemma.h"

enum {
	PLE_EMBD,
	PLE_PROJ,
	PLE_NORM,
	INP_GATE,
	PROJ,
	POST_NORM,
	ROUTER_SCALE,
	PRE_2,
	POST_1,
	POST_2
};
#define D_PLE     (D_OWN + 0) /* columns of one layer's per-layer embedding */
#define D_PLE_ALL (D_OWN + 1) /* columns for all layers */
#define HAS_PLE   LMI_L_OWN
static const struct lmd_tensor_row own_rows[] = {
	[PLE_EMBD] = {"per_layer_token_embd", {D_PLE_ALL, D_VOCAB}, LMD_TENSOR_GLOBAL,
		      LMD_SPLIT_REPLICATE, 0, NULL},
	[PLE_PROJ] = {"per_layer_model_proj", {D_EMBD, D_PLE_ALL}, LMD_TENSOR_GLOBAL,
		      LMD_SPLIT_ROWS, 0, NULL},
	[PLE_NORM] = {"per_layer_proj_norm", {D_PLE}, LMD_TENSOR_GLOBAL, LMD_SPLIT_REPLICATE, 0,
		      NULL},
	[INP_GATE] = {"blk.%d.inp_gate", {D_EMBD, D_PLE}, LMD_TENSOR_REQUIRED, LMD_SPLIT_ROWS,
		      HAS_PLE, NULL},
	[PROJ] = {"blk.%d.proj", {D_PLE, D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_COLS, HAS_PLE,
		  NULL},
	[POST_NORM] = {"blk.%d.post_norm", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
		       HAS_PLE, NULL},
	[ROUTER_SCALE] = {"blk.%d.ffn_gate_inp.scale", {D_EMBD},
			  LMD_TENSOR_REQUIRED | LMD_TENSOR_BARE, LMD_SPLIT_REPLICATE, LMI_L_MOE,
			  NULL},
	[PRE_2] = {"blk.%d.pre_ffw_norm_2", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
		   LMI_L_MOE, NULL},
	[POST_1] = {"blk.%d.post_ffw_norm_1", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
		    LMI_L_MOE, NULL},
	[POST_2] = {"blk.%d.post_ffw_norm_2", {D_EMBD}, LMD_TENSOR_REQUIRED, LMD_SPLIT_REPLICATE,
		    LMI_L_MOE, NULL},
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL, LMI_SET_ATTN_NORM, LMI_SET_QKV, LMI_REQ(T_ATTN_Q_NORM, T_ATTN_Q_NORM),
	LMI_OPT(T_ATTN_K_NORM, T_ATTN_K_NORM), LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM, LMI_SET_FFN, LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM), LMI_SET_MOE,
	LMI_OPT(T_LAYER_OUT_SCALE, T_LAYER_OUT_SCALE), LMI_SET_ROPE_FREQS, LMI_OWN(own_rows),
};

static const struct lmi_key_f32 floats[] = {
	{"final_logit_softcapping", LMI_HP(logit_softcap), LMI_OPTIONAL, 0, 0, 1e6f},
};

#define N_PLE(hp) ((hp)->own[0])
enum { PLE = 0 }; /* index in lmi_emit.own: the per-layer inputs, one head for each layer */

/* ---- description ---- */

static void window_heads(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t dk = lmi_key_u32(k, "attention.key_length_swa", LMI_REQUIRED, 1, 1, LMI_MAX_DK);
	uint32_t dv = lmi_key_u32(k, "attention.value_length_swa", LMI_REQUIRED, 1, 1, LMI_MAX_DK);
	uint32_t n_rot = lmi_key_u32(k, "rope.dimension_count_swa", LMI_OPTIONAL, dk, 0, dk);

	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		if (!l->window)
			continue;
		l->dk = dk;
		l->dv = dv;
		l->n_rot = n_rot;
	}
}

/* Lets the last layers read the keys of the last layer of the same kind that has its own. */
static void shared_keys(struct lmi_hparams *hp, struct lmi_keys *k)
{
	uint32_t n = lmi_key_u32(k, "attention.shared_kv_layers", LMI_OPTIONAL, 0, 0,
				 hp->n_layer - 1);
	uint32_t last[2] = {LMD_NONE, LMD_NONE}; /* full, window */

	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];
		uint32_t *mine = &last[l->window != 0];

		if (il < hp->n_layer - n)
			*mine = il;
		else if (*mine == LMD_NONE)
			lmi_key_fail(
				k, LMD_INVALID,
				"%s.attention.shared_kv_layers: %u, but there is no earlier layer "
				"of the same kind as layer %u",
				k->model->arch, n, il);
		else
			l->kv_layer = *mine;
	}
}

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	lmi_gemma_embedding(hp, 1.0f);
	hp->attn_scale = 1.0f;
	window_heads(hp, k);
	shared_keys(hp, k);
	lmi_hp_rope_window(hp, k, 10000.0, true);
	N_PLE(hp) = lmi_key_u32(k, "embedding_length_per_layer_input", LMI_REQUIRED, 0, 0,
				LMI_MAX_WIDTH / LMI_MAX_LAYER);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct lmi_layer *l = &hp->layer[il];

		/* experts stand beside the dense block */
		if (l->cls & LMI_L_MOE)
			l->cls |= LMI_L_DENSE;
		if (N_PLE(hp))
			l->cls |= HAS_PLE;
	}
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct lmi_hparams *hp = state;

	if (symbol == D_PLE)
		return N_PLE(hp);
	if (symbol == D_PLE_ALL)
		return (int64_t)N_PLE(hp) * hp->n_layer;
	return lmi_hp_dim(state, symbol, layer);
}

/* ---- per-layer embeddings ---- */

/* Computes (norm(W x / sqrt(width)) + table[token] * sqrt(columns)) / sqrt 2, one head per layer.
 * External rows use row 0 of the table. */
static void begin(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s)
{
	uint32_t n = N_PLE(&d->hp), all = n * d->hp.n_layer, look, proj, normed, y;
	struct lmd_op op = lmi_op(LMD_OP_EMBED);
	struct lmd_norm norm;
	struct lmi_w w;
	struct lmi_ew p = lmi_ew();
	uint8_t a, b;

	if (!n)
		return;
	look = lmi_f32(e, all, "ple_token");
	op.u.embed.y = lmi_cols(look, 0, all);
	op.u.embed.table = lmi_w(e, &own_rows[PLE_EMBD]).id;
	op.u.embed.scale = sqrtf((float)n);
	op.u.embed.neg = LMD_NEG_ROW;
	lmi_put(e, &op);

	w = lmi_w(e, &own_rows[PLE_PROJ]);
	proj = lmi_f32(e, all, "ple_proj");
	op = lmi_op(LMD_OP_LINEAR);
	op.u.linear.x = lmi_whole(e, s->x);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.y[0] = lmi_cols(proj, 0, all);
	op.u.linear.scale = 1.0f / sqrtf((float)d->hp.n_embd);
	lmi_put(e, &op);

	normed = lmi_f32(e, all, "ple_norm");
	norm = lmi_norm_req(e, LMD_NORM_RMS, &own_rows[PLE_NORM]);
	lmi_put_norm(e, lmi_heads(proj, 0, d->hp.n_layer, n), &norm,
		     lmi_heads(normed, 0, d->hp.n_layer, n));
	y = lmi_f32(e, all, "ple");
	a = lmi_ew_in(&p, lmi_cols(look, 0, all));
	b = lmi_ew_in(&p, lmi_cols(normed, 0, all));
	a = lmi_ew2(&p, LMD_EW_ADD, a, b);
	lmi_ew_out(e, &p, lmi_ew2(&p, LMD_EW_MUL, a, lmi_ew_const(&p, sqrtf(0.5f))),
		   lmi_cols(y, 0, all));
	e->own[PLE] = y;
}

/* Adds norm(W (gelu(G x) * the layer's input)) to the stream. */
static void per_layer_input(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s)
{
	uint32_t n = N_PLE(&d->hp), g, y, z;
	struct lmi_w w = lmi_w(e, &own_rows[INP_GATE]);
	struct lmd_norm norm;

	g = lmi_linear(e, lmi_whole(e, lmi_flush(e, s)), NULL, &w, LMD_VTYPE_ACT, "ple_gate");
	y = lmi_act(e, n, "ple_in");
	lmi_put_glu(e, LMD_ACT_GELU, NULL, lmi_cols(g, 0, n),
		    lmi_cols(e->own[PLE], (uint32_t)e->il * n, n), lmi_cols(y, 0, n));
	w = lmi_w(e, &own_rows[PROJ]);
	y = lmi_linear(e, lmi_cols(y, 0, n), NULL, &w, LMD_VTYPE_ACT, "ple_out");
	norm = lmi_norm_req(e, LMD_NORM_RMS, &own_rows[POST_NORM]);
	z = lmi_act(e, d->hp.n_embd, "ple_post");
	lmi_put_norm(e, lmi_whole(e, y), &norm, lmi_whole(e, z));
	lmi_add_later(e, s, z, 1.0f);
}

/* ---- experts beside the dense block ---- */

static uint32_t post(struct lmi_emit *e, uint32_t x, const struct lmd_tensor_row *row,
		     const char *name)
{
	struct lmd_norm n = lmi_norm_req(e, LMD_NORM_RMS, row);
	uint32_t y = lmi_act(e, lmi_width(e, x), name);

	lmi_put_norm(e, lmi_whole(e, x), &n, lmi_whole(e, y));
	return y;
}

/* Router logits.  The router has its own norm of the stream: x / rms(x) / sqrt(width) * scale. */
static uint32_t router(struct lmi_emit *e, const struct lmi_decoder *d, uint32_t x)
{
	uint32_t width = d->hp.n_embd, y = lmi_f32(e, width, "router_norm");
	struct lmd_norm n = lmi_norm_req(e, LMD_NORM_RMS, &own_rows[ROUTER_SCALE]);
	struct lmi_w w = lmi_w(e, &lmi_rows[T_FFN_GATE_INP]);
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	uint32_t logits = lmi_f32(e, w.n, "router");

	lmi_put_norm(e, lmi_whole(e, x), &n, lmi_cols(y, 0, width));
	op.u.linear.x = lmi_cols(y, 0, width);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.y[0] = lmi_cols(logits, 0, w.n);
	op.u.linear.scale = 1.0f / sqrtf((float)width);
	lmi_put(e, &op);
	return logits;
}

static uint32_t two_branches(struct lmi_emit *e, const struct lmi_decoder *d, uint32_t x)
{
	struct lmi_io io = {.x = lmi_whole(e, x), .res = LMD_NONE, .a = 1.0f};
	struct lmi_ffn f = lmi_decoder_ffn(e, d);
	struct lmi_moe m = lmi_moe_default(e);
	uint32_t dense, moe, sum = lmi_act(e, d->hp.n_embd, "branches");

	io.norm = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
	dense = post(e, lmi_ffn(e, &io, &f), &own_rows[POST_1], "dense_post");
	m.act = LMD_ACT_GELU;
	m.fn = LMD_ROUTE_SOFTMAX;
	m.renorm = true;
	m.scale = 1.0f;
	m.logits = router(e, d, x);
	m.probs_b = NULL;
	io.norm = lmi_norm_req(e, LMD_NORM_RMS, &own_rows[PRE_2]);
	moe = post(e, lmi_moe(e, &io, &m), &own_rows[POST_2], "moe_post");
	lmi_put_scale_add(e, lmi_whole(e, dense), 1.0f, lmi_whole(e, moe), lmi_whole(e, sum));
	return sum;
}

static void attn(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_attn *a)
{
	(void)e;
	(void)d;
	a->v_norm = true;
	a->v_from_k = true;
}

static void layer(struct lmi_emit *e, const struct lmi_decoder *d, struct lmi_stream *s,
		  uint32_t pass)
{
	struct lmd_norm n = lmi_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct lmi_io io = lmi_read(e, s, &n);
	struct lmi_attn a = lmi_decoder_attn(e, d, pass);
	struct lmi_ffn f;
	uint32_t y;

	io.res = LMD_NONE;
	y = lmi_attn(e, &io, &a);
	lmi_add_later(e, s, post(e, y, &lmi_rows[T_POST_ATTN_NORM], "attn_post"), 1.0f);
	if (lmi_cur(e)->cls & LMI_L_MOE) {
		y = two_branches(e, d, lmi_flush(e, s));
	} else {
		n = lmi_decoder_norm(e, d, 0, T_FFN_NORM);
		io = lmi_read(e, s, &n);
		io.res = LMD_NONE;
		f = lmi_decoder_ffn(e, d);
		y = lmi_ffn(e, &io, &f);
	}
	lmi_add_later(e, s, post(e, y, &lmi_rows[T_POST_FFN_NORM], "ffn_post"), 1.0f);
	if (N_PLE(&d->hp))
		per_layer_input(e, d, s);
	if (lmi_has(e, &lmi_rows[T_LAYER_OUT_SCALE])) {
		uint32_t x = lmi_flush(e, s), scaled = lmi_f32(e, d->hp.n_embd, "x_scaled");
		struct lmi_w w = lmi_w(e, &lmi_rows[T_LAYER_OUT_SCALE]);

		lmi_put_mul(e, lmi_whole(e, x), lmi_wcols(w.id, 1), lmi_whole(e, scaled));
		s->x = scaled;
	}
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = LMI_REQUIRED,
	       .window_period = 6},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.place = LMI_SANDWICH,
	.qk_norm = LMI_QKN_HEAD,
	.act = LMD_ACT_GELU,
	.adjust = adjust,
	.begin = begin,
	.attn = attn,
	.layer = layer,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model,
				const struct lmd_arch_params *params, struct lmd_arch_desc *out,
				struct lmd_error *err)
{
	return lmi_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				    err);
}

const struct lmd_arch_ops lmi_arch_gemma4 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = lmi_hp_layer_class,
	.build = lmi_decoder_build,
	.rows = lmi_decoder_rows,
};
