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
#define HAS_PLE   ARCH_L_OWN
static const struct lmd_tensor_row own_rows[] = {
	[PLE_EMBD] = {"per_layer_token_embd",
		      {D_PLE_ALL, D_VOCAB},
		      LMD_TENSOR_GLOBAL,
		      LMD_SPLIT_REPLICATE,
		      0,
		      NULL},
	[PLE_PROJ] = {"per_layer_model_proj",
		      {D_EMBD, D_PLE_ALL},
		      LMD_TENSOR_GLOBAL | LMD_TENSOR_LORA | LMD_TENSOR_KEEP_TYPE,
		      LMD_SPLIT_ROWS,
		      0,
		      NULL},
	[PLE_NORM] =
		{"per_layer_proj_norm", {D_PLE}, LMD_TENSOR_GLOBAL, LMD_SPLIT_REPLICATE, 0, NULL},
	[INP_GATE] = {"blk.%d.inp_gate",
		      {D_EMBD, D_PLE},
		      LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA,
		      LMD_SPLIT_ROWS,
		      HAS_PLE,
		      NULL},
	[PROJ] = {"blk.%d.proj",
		  {D_PLE, D_EMBD},
		  LMD_TENSOR_REQUIRED | LMD_TENSOR_LORA,
		  LMD_SPLIT_COLS,
		  HAS_PLE,
		  NULL},
	[POST_NORM] = {"blk.%d.post_norm",
		       {D_EMBD},
		       LMD_TENSOR_REQUIRED,
		       LMD_SPLIT_REPLICATE,
		       HAS_PLE,
		       NULL},
	[ROUTER_SCALE] = {"blk.%d.ffn_gate_inp.scale",
			  {D_EMBD},
			  LMD_TENSOR_REQUIRED | LMD_TENSOR_BARE,
			  LMD_SPLIT_REPLICATE,
			  ARCH_L_MOE,
			  NULL},
	[PRE_2] = {"blk.%d.pre_ffw_norm_2",
		   {D_EMBD},
		   LMD_TENSOR_REQUIRED,
		   LMD_SPLIT_REPLICATE,
		   ARCH_L_MOE,
		   NULL},
	[POST_1] = {"blk.%d.post_ffw_norm_1",
		    {D_EMBD},
		    LMD_TENSOR_REQUIRED,
		    LMD_SPLIT_REPLICATE,
		    ARCH_L_MOE,
		    NULL},
	[POST_2] = {"blk.%d.post_ffw_norm_2",
		    {D_EMBD},
		    LMD_TENSOR_REQUIRED,
		    LMD_SPLIT_REPLICATE,
		    ARCH_L_MOE,
		    NULL},
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_ROWS_REQ(T_ATTN_Q_NORM, T_ATTN_Q_NORM),
	ARCH_ROWS_OPT(T_ATTN_K_NORM, T_ATTN_K_NORM),
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	ARCH_SET_MOE,
	ARCH_ROWS_OPT(T_LAYER_OUT_SCALE, T_LAYER_OUT_SCALE),
	ARCH_SET_ROPE_FREQS,
	ARCH_ROWS_OWN(own_rows),
};

static const struct arch_key_f32 floats[] = {
	{"final_logit_softcapping", ARCH_HP(logit_softcap), ARCH_OPTIONAL, 0, 0, 1e6f},
};

#define N_PLE(hp) ((hp)->arch_u32[0])
enum {
	PLE = 0
}; /* index in arch_emit.arch_values: the per-layer inputs, one head for each layer */

/* ---- description ---- */

static void window_heads(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t dk = arch_key_u32(k, "attention.key_length_swa", ARCH_REQUIRED, 1, 1, ARCH_MAX_DK);
	uint32_t dv =
		arch_key_u32(k, "attention.value_length_swa", ARCH_REQUIRED, 1, 1, ARCH_MAX_DK);
	uint32_t n_rot = arch_key_u32(k, "rope.dimension_count_swa", ARCH_OPTIONAL, dk, 0, dk);

	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		if (!l->window)
			continue;
		l->dk = dk;
		l->dv = dv;
		l->n_rot = n_rot;
	}
}

/* Lets the last layers read the keys of the last layer of the same kind that has its own. */
static void shared_keys(struct arch_hparams *hp, struct arch_keys *k)
{
	uint32_t n =
		arch_key_u32(k, "attention.shared_kv_layers", ARCH_OPTIONAL, 0, 0, hp->n_layer - 1);
	uint32_t last[2] = {LMD_NONE, LMD_NONE}; /* full, window */

	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];
		uint32_t *mine = &last[l->window != 0];

		if (il < hp->n_layer - n)
			*mine = il;
		else if (*mine == LMD_NONE)
			arch_key_fail(
				k, LMD_INVALID,
				"%s.attention.shared_kv_layers: %u, but there is no earlier layer "
				"of the same kind as layer %u",
				k->model->arch, n, il);
		else
			l->kv_layer = *mine;
	}
}

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	arch_gemma_embedding_scale(hp, 1.0f);
	hp->attn_scale = 1.0f;
	window_heads(hp, k);
	shared_keys(hp, k);
	arch_hp_rope_window(hp, k, 10000.0, true);
	N_PLE(hp) = arch_key_u32(k, "embedding_length_per_layer_input", ARCH_REQUIRED, 0, 0,
				 ARCH_KEY_MAX_WIDTH / ARCH_MAX_LAYER);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		struct arch_layer *l = &hp->layer[il];

		/* experts stand beside the dense block */
		if (l->cls & ARCH_L_MOE)
			l->cls |= ARCH_L_DENSE;
		if (N_PLE(hp))
			l->cls |= HAS_PLE;
	}
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hparams *hp = state;

	if (symbol == D_PLE)
		return N_PLE(hp);
	if (symbol == D_PLE_ALL)
		return (int64_t)N_PLE(hp) * hp->n_layer;
	return arch_hp_dim(state, symbol, layer);
}

/* ---- per-layer embeddings ---- */

/* Computes (norm(W x / sqrt(width)) + table[token] * sqrt(columns)) / sqrt 2, one head per layer.
 * External rows use row 0 of the table. */
static void begin(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s)
{
	uint32_t n = N_PLE(&d->hp), all = n * d->hp.n_layer, look, proj, normed, y;
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	struct lmd_norm norm;
	struct arch_weight w;
	struct arch_ew p = arch_ew();
	uint8_t a, b;

	if (!n)
		return;
	look = arch_value_f32(e, all, "ple_token");
	op.u.embed.y = arch_operand_cols(look, 0, all);
	op.u.embed.table = arch_weight_req(e, &own_rows[PLE_EMBD]).id;
	op.u.embed.scale = sqrtf((float)n);
	op.u.embed.neg = LMD_NEG_ROW;
	arch_emit_op(e, &op);

	w = arch_weight_req(e, &own_rows[PLE_PROJ]);
	proj = arch_value_f32(e, all, "ple_proj");
	op = arch_op_empty(LMD_OP_LINEAR);
	op.u.linear.x = arch_operand_all(e, s->x);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.y[0] = arch_operand_cols(proj, 0, all);
	op.u.linear.scale = 1.0f / sqrtf((float)d->hp.n_embd);
	arch_emit_op(e, &op);

	normed = arch_value_f32(e, all, "ple_norm");
	norm = arch_norm_req(e, LMD_NORM_RMS, &own_rows[PLE_NORM]);
	arch_put_norm(e, arch_operand_heads(proj, 0, d->hp.n_layer, n), &norm,
		      arch_operand_heads(normed, 0, d->hp.n_layer, n));
	y = arch_value_f32(e, all, "ple");
	a = arch_ew_in(&p, arch_operand_cols(look, 0, all));
	b = arch_ew_in(&p, arch_operand_cols(normed, 0, all));
	a = arch_ew2(&p, LMD_EW_ADD, a, b);
	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, a, arch_ew_const(&p, sqrtf(0.5f))),
		    arch_operand_cols(y, 0, all));
	e->arch_values[PLE] = y;
}

/* Adds norm(W (gelu(G x) * the layer's input)) to the stream. */
static void per_layer_input(struct arch_emit *e, const struct arch_decoder *d,
			    struct arch_residual *s)
{
	uint32_t n = N_PLE(&d->hp), g, y, z;
	struct arch_weight w = arch_weight_req(e, &own_rows[INP_GATE]);
	struct lmd_norm norm;

	g = arch_linear(e, arch_operand_all(e, arch_residual_flush(e, s)), NULL, &w, LMD_VTYPE_ACT,
			"ple_gate");
	y = arch_value_act(e, n, "ple_in");
	arch_put_glu(e, LMD_ACT_FN_GELU, NULL, arch_operand_cols(g, 0, n),
		     arch_operand_cols(e->arch_values[PLE], (uint32_t)e->il * n, n),
		     arch_operand_cols(y, 0, n));
	w = arch_weight_req(e, &own_rows[PROJ]);
	y = arch_linear(e, arch_operand_cols(y, 0, n), NULL, &w, LMD_VTYPE_ACT, "ple_out");
	norm = arch_norm_req(e, LMD_NORM_RMS, &own_rows[POST_NORM]);
	z = arch_value_act(e, d->hp.n_embd, "ple_post");
	arch_put_norm(e, arch_operand_all(e, y), &norm, arch_operand_all(e, z));
	arch_residual_defer_add(e, s, z, 1.0f);
}

/* ---- experts beside the dense block ---- */

static uint32_t post(struct arch_emit *e, uint32_t x, const struct lmd_tensor_row *row,
		     const char *name)
{
	struct lmd_norm n = arch_norm_req(e, LMD_NORM_RMS, row);
	uint32_t y = arch_value_act(e, arch_width(e, x), name);

	arch_put_norm(e, arch_operand_all(e, x), &n, arch_operand_all(e, y));
	return y;
}

/* Router logits.  The router has its own norm of the stream: x / rms(x) / sqrt(width) * scale. */
static uint32_t router(struct arch_emit *e, const struct arch_decoder *d, uint32_t x)
{
	uint32_t width = d->hp.n_embd, y = arch_value_f32(e, width, "router_norm");
	struct lmd_norm n = arch_norm_req(e, LMD_NORM_RMS, &own_rows[ROUTER_SCALE]);
	struct arch_weight w = arch_weight_req(e, &arch_rows[T_FFN_GATE_INP]);
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	uint32_t logits = arch_value_f32(e, w.n, "router");

	arch_put_norm(e, arch_operand_all(e, x), &n, arch_operand_cols(y, 0, width));
	op.u.linear.x = arch_operand_cols(y, 0, width);
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.y[0] = arch_operand_cols(logits, 0, w.n);
	op.u.linear.scale = 1.0f / sqrtf((float)width);
	arch_emit_op(e, &op);
	return logits;
}

static uint32_t dense_and_experts(struct arch_emit *e, const struct arch_decoder *d, uint32_t x)
{
	struct arch_block_io io = {.x = arch_operand_all(e, x), .res = LMD_NONE, .a = 1.0f};
	struct arch_ffn f = arch_decoder_ffn(e, d);
	struct arch_moe m = arch_moe_default(e);
	uint32_t dense, moe, sum = arch_value_act(e, d->hp.n_embd, "branches");

	io.norm = arch_decoder_norm(e, d, 0, T_FFN_NORM);
	dense = post(e, arch_ffn(e, &io, &f), &own_rows[POST_1], "dense_post");
	m.act = LMD_ACT_FN_GELU;
	m.route_fn = LMD_ROUTE_SOFTMAX;
	m.renorm = true;
	m.scale = 1.0f;
	m.logits = router(e, d, x);
	m.probs_b = NULL;
	io.norm = arch_norm_req(e, LMD_NORM_RMS, &own_rows[PRE_2]);
	moe = post(e, arch_moe(e, &io, &m), &own_rows[POST_2], "moe_post");
	arch_put_scale_add(e, arch_operand_all(e, dense), 1.0f, arch_operand_all(e, moe),
			   arch_operand_all(e, sum));
	return sum;
}

static void attn(struct arch_emit *e, const struct arch_decoder *d, struct arch_attn *a)
{
	(void)e;
	(void)d;
	a->v_norm = true;
	a->v_from_k = true;
}

static void layer(struct arch_emit *e, const struct arch_decoder *d, struct arch_residual *s,
		  uint32_t pass)
{
	struct lmd_norm n = arch_decoder_norm(e, d, 0, T_ATTN_NORM);
	struct arch_block_io io = arch_residual_read(e, s, &n);
	struct arch_attn a = arch_decoder_attn(e, d, pass);
	struct arch_ffn f;
	uint32_t y;

	io.res = LMD_NONE;
	y = arch_attn(e, &io, &a);
	arch_residual_defer_add(e, s, post(e, y, &arch_rows[T_POST_ATTN_NORM], "attn_post"), 1.0f);
	if (arch_current_layer(e)->cls & ARCH_L_MOE) {
		y = dense_and_experts(e, d, arch_residual_flush(e, s));
	} else {
		n = arch_decoder_norm(e, d, 0, T_FFN_NORM);
		io = arch_residual_read(e, s, &n);
		io.res = LMD_NONE;
		f = arch_decoder_ffn(e, d);
		y = arch_ffn(e, &io, &f);
	}
	arch_residual_defer_add(e, s, post(e, y, &arch_rows[T_POST_FFN_NORM], "ffn_post"), 1.0f);
	if (N_PLE(&d->hp))
		per_layer_input(e, d, s);
	if (arch_weight_exists(e, &arch_rows[T_LAYER_OUT_SCALE])) {
		uint32_t x = arch_residual_flush(e, s),
			 scaled = arch_value_f32(e, d->hp.n_embd, "x_scaled");
		struct arch_weight w = arch_weight_req(e, &arch_rows[T_LAYER_OUT_SCALE]);

		arch_put_mul(e, arch_operand_all(e, x), arch_operand_weight_cols(w.id, 1),
			     arch_operand_all(e, scaled));
		s->x = scaled;
	}
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 6},
	.floats = floats,
	.n_floats = LMD_LEN(floats),
	.norm_placement = ARCH_NORM_SANDWICH,
	.qk_norm = ARCH_QKN_HEAD,
	.act = LMD_ACT_FN_GELU,
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
	return arch_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				     err);
}

const struct lmd_arch_ops arch_gemma4 = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = arch_decoder_build,
	.rows = arch_decoder_rows,
};
