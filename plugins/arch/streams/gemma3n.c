/* SPDX-License-Identifier: MIT
 *
 * Gemma 3n (model card google/gemma-3n-E4B).  There are four residual streams (AltUp, arXiv
 * 2301.13310): a layer predicts all of them from each other, computes on the first, and corrects
 * all by the result.  A low-rank branch (LAuReL, arXiv 2411.07501) is parallel to attention;
 * per-layer embeddings are added to the other streams; the first layers keep only gates above mean
 * + 1.645 sigma; the last layers read keys and values of earlier ones. */
#include <math.h>

#include "arch/common/decoder.h"
#include "arch/streams/streams.h"

/* Fixed by the architecture. */
#define N_ALTUP    4u
#define LAUREL     64u
#define D_PER      256u  /* per-layer embedding */
#define N_KV       20u   /* layers with their own keys */
#define N_SPARSE   10u
#define SPARSE_STD 1.6448533535003662f /* 95 % quantile of the normal distribution */
#define ROOT_HALF  0.70710678118654752f

enum { D_PER_ALL = D_OWN };

enum g3n_t {
	N_ALTUP_PROJ, N_ALTUP_UNEMBD, N_PER_EMBD, N_PER_PROJ, N_PER_NORM,
	L_PREDICT, L_CORRECT, L_CORRECT_SCALE, L_ROUTER, L_ROUTER_NORM, L_LAUREL_L, L_LAUREL_R,
	L_LAUREL_NORM, L_INP_GATE, L_PROJ, L_POST_NORM, N_ROWS
};

#define R  LMD_TENSOR_REQUIRED
#define RG (LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL)
#define KEEP LMD_TENSOR_KEEP_TYPE /* very small, or sensitive to rounding */
#define C(n) LMD_DIM(n)
#define ROW(stem, d0, d1, d2, flags, split) {stem, {d0, d1, d2}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, 0, NULL}
#define BLK(stem, d0, d1, split) ROW("blk.%d." stem, d0, d1, 0, R, split)
#define BLK_KEEP(stem, d0, d1, split) ROW("blk.%d." stem, d0, d1, 0, R | KEEP, split)

static const struct lmd_tensor_row rows[N_ROWS] = {
	[N_ALTUP_PROJ] = ROW("altup_proj", D_EMBD, D_EMBD, C(N_ALTUP - 1), RG | KEEP, REPLICATE),
	[N_ALTUP_UNEMBD] = ROW("altup_unembd_proj", D_EMBD, D_EMBD, C(N_ALTUP - 1), RG | KEEP, REPLICATE),
	[N_PER_EMBD] = ROW("per_layer_token_embd", D_PER_ALL, D_VOCAB, 0, RG, REPLICATE),
	[N_PER_PROJ] = ROW("per_layer_model_proj", D_EMBD, D_PER_ALL, 0, RG | KEEP, REPLICATE),
	[N_PER_NORM] = ROW("per_layer_proj_norm", C(D_PER), 0, 0, RG, REPLICATE),
	[L_PREDICT] = BLK_KEEP("altup_predict_coef", C(N_ALTUP), C(N_ALTUP * N_ALTUP), REPLICATE),
	[L_CORRECT] = BLK_KEEP("altup_correct_coef", C(N_ALTUP), C(N_ALTUP), REPLICATE),
	[L_CORRECT_SCALE] = BLK_KEEP("altup_correct_scale", D_EMBD, 0, REPLICATE),
	[L_ROUTER] = BLK_KEEP("altup_router", D_EMBD, C(N_ALTUP), REPLICATE),
	[L_ROUTER_NORM] = BLK_KEEP("altup_router_norm", D_EMBD, 0, REPLICATE),
	[L_LAUREL_L] = BLK_KEEP("laurel_l", D_EMBD, C(LAUREL), REPLICATE),
	[L_LAUREL_R] = BLK_KEEP("laurel_r", C(LAUREL), D_EMBD, REPLICATE),
	[L_LAUREL_NORM] = BLK_KEEP("laurel_post_norm", D_EMBD, 0, REPLICATE),
	[L_INP_GATE] = BLK("inp_gate", D_EMBD, C(D_PER), REPLICATE),
	[L_PROJ] = BLK("proj", C(D_PER), D_EMBD, REPLICATE),
	[L_POST_NORM] = BLK("post_norm", D_EMBD, 0, REPLICATE),
};

static const struct lmd_tensor_set sets[] = {
	ARCH_SET_GLOBAL,
	ARCH_SET_ATTN_NORM,
	ARCH_SET_QKV,
	ARCH_SET_QK_NORM,
	ARCH_ROWS_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	ARCH_SET_FFN_NORM,
	ARCH_SET_FFN,
	ARCH_ROWS_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	ARCH_ROWS_OWN(rows),
};

static void adjust(struct arch_hparams *hp, struct arch_keys *k)
{
	hp->embd_scale = sqrtf((float)hp->n_embd);
	hp->attn_scale = 1.0f;
	hp->logit_softcap = 30.0f;
	arch_hp_rope_window(hp, k, 10000.0, true);
	for (uint32_t il = N_KV; il < hp->n_layer; il++)
		hp->layer[il].kv_layer = hp->layer[il].window ? N_KV - 2 : N_KV - 1;
	if (hp->n_layer > LMD_DIM_CONST / D_PER)
		arch_key_fail(k, LMD_INVALID, "gemma3n.block_count: %u layers, maximum %u",
			      hp->n_layer, LMD_DIM_CONST / D_PER);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		const struct arch_layer *a = &hp->layer[il], *b = &hp->layer[a->kv_layer];

		if (a->n_head_kv != b->n_head_kv || (a->window != 0) != (b->window != 0))
			arch_key_fail(
				k, LMD_INVALID,
				"gemma3n: layer %u cannot read the keys of layer %u, which is "
				"of a different kind",
				il, a->kv_layer);
	}
}

static const struct arch_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS,
	       .rope_pairing = LMD_ROPE_HALVES,
	       .window = true,
	       .window_need = ARCH_REQUIRED,
	       .window_period = 5},
	.qk_norm = ARCH_QKN_HEAD,
	.adjust = adjust,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return arch_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				     err);
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct arch_hparams *hp = state;

	return symbol == D_PER_ALL ? (int64_t)D_PER * hp->n_layer
				   : arch_hp_dim(state, symbol, layer);
}

/* ---- pieces ---- */

static uint32_t linear(struct arch_emit *e, struct lmd_operand x, const struct lmd_norm *norm,
		       const struct lmd_tensor_row *row, uint32_t act, float scale,
		       const char *name)
{
	struct arch_weight w = arch_weight_req(e, row);
	struct lmd_op op = arch_op_empty(LMD_OP_LINEAR);
	uint32_t y = arch_value_f32(e, w.n, name);

	op.u.linear.x = x;
	if (norm)
		op.u.linear.pro = *norm;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.act = act;
	op.u.linear.scale = scale;
	op.u.linear.y[0] = arch_operand_all(e, y);
	arch_emit_op(e, &op);
	return y;
}

static uint32_t normed(struct arch_emit *e, struct lmd_operand x, const struct lmd_tensor_row *row,
		       const char *name)
{
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, row);
	uint32_t y = arch_value_f32(e, x.width, name);

	arch_put_norm(e, x, &norm, arch_operand_all(e, y));
	return y;
}

/* Sum of squares of a row. */
static uint32_t square_sum(struct arch_emit *e, struct lmd_operand x)
{
	uint32_t sq = arch_value_f32(e, x.width, "squares"), y = arch_value_f32(e, 1, "square_sum");
	struct lmd_op op = arch_op_empty(LMD_OP_REDUCE);

	arch_put_mul(e, x, x, arch_operand_all(e, sq));
	op.u.reduce.x = arch_operand_all(e, sq);
	op.u.reduce.y = arch_operand_all(e, y);
	op.u.reduce.kind = LMD_REDUCE_SUM;
	op.u.reduce.axis = LMD_AXIS_ROW;
	arch_emit_op(e, &op);
	return y;
}

/* Multiplies by the matrices of three streams and scales each result to unit length. */
static uint32_t unit_streams(struct arch_emit *e, struct lmd_operand x,
			     const struct lmd_tensor_row *row)
{
	const uint32_t w = x.width, n = N_ALTUP - 1;
	uint32_t v = arch_value_f32(e, n * w, "altup"), y = arch_value_f32(e, n * w, "altup_unit");
	struct lmd_norm unit = arch_no_norm();
	struct lmd_op op = arch_op_empty(LMD_OP_BMM);

	op.u.bmm.x = x;
	op.u.bmm.w = arch_weight_req(e, row).id;
	op.u.bmm.y = arch_operand_heads(v, 0, n, w);
	arch_emit_op(e, &op);
	unit.kind = LMD_NORM_L2;
	arch_put_norm(e, arch_operand_heads(v, 0, n, w), &unit, arch_operand_heads(y, 0, n, w));
	return y;
}

/* Creates the streams: stream 0 is the embedding, the others are projections of it, scaled to its
 * length. */
static uint32_t make_streams(struct arch_emit *e, uint32_t x, uint32_t w)
{
	struct lmd_operand repeated = arch_operand_heads(x, 0, N_ALTUP - 1, w);
	uint32_t sum = square_sum(e, arch_operand_all(e, x)), unit,
		 y = arch_value_f32(e, N_ALTUP * w, "streams");
	struct lmd_op copy = arch_op_empty(LMD_OP_CAST_COPY);
	struct arch_ew p = arch_ew();
	uint8_t a;

	repeated.head_stride = 0;
	unit = unit_streams(e, repeated, &rows[N_ALTUP_PROJ]);
	copy.u.cast_copy.x = arch_operand_all(e, x);
	copy.u.cast_copy.y = arch_operand_cols(y, 0, w);
	arch_emit_op(e, &copy);
	a = arch_ew1(&p, LMD_EW_SQRT, arch_ew_in(&p, arch_operand_all(e, sum)));
	a = arch_ew2(&p, LMD_EW_MUL, a,
		     arch_ew_in(&p, arch_operand_heads(unit, 0, N_ALTUP - 1, w)));
	arch_ew_out(e, &p, a, arch_operand_heads(y, w, N_ALTUP - 1, w));
	return y;
}

/* The mean of stream 0 and the others, which are first projected and scaled to its length. */
static uint32_t gather_up(struct arch_emit *e, uint32_t xs, uint32_t w)
{
	uint32_t sum = square_sum(e, arch_operand_cols(xs, 0, w)), y = arch_value_f32(e, w, "x");
	uint32_t unit =
		unit_streams(e, arch_operand_heads(xs, w, N_ALTUP - 1, w), &rows[N_ALTUP_UNEMBD]);
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, arch_operand_cols(unit, 0, w));
	uint8_t len = arch_ew1(&p, LMD_EW_SQRT, arch_ew_in(&p, arch_operand_all(e, sum)));

	for (uint32_t i = 1; i < N_ALTUP - 1; i++)
		a = arch_ew2(&p, LMD_EW_ADD, a, arch_ew_in(&p, arch_operand_cols(unit, i * w, w)));
	a = arch_ew3(&p, LMD_EW_FMA, a, len, arch_ew_in(&p, arch_operand_cols(xs, 0, w)));
	a = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_const(&p, 1.0f / (float)N_ALTUP));
	arch_ew_out(e, &p, a, arch_operand_all(e, y));
	return y;
}

/* (norm(W x) + E[token] * 16) / sqrt 2, D_PER columns for each layer. */
static uint32_t per_layer_inputs(struct arch_emit *e, const struct arch_hparams *hp, uint32_t x)
{
	const uint32_t n = hp->n_layer;
	uint32_t tok = arch_value_f32(e, n * D_PER, "per_layer_tok"),
		 y = arch_value_f32(e, n * D_PER, "per_layer");
	uint32_t proj = linear(e, arch_operand_all(e, x), NULL, &rows[N_PER_PROJ], LMD_ACT_FN_NONE,
			       1.0f / sqrtf((float)hp->n_embd), "per_layer_proj");
	uint32_t unit = arch_value_f32(e, n * D_PER, "per_layer_norm");
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &rows[N_PER_NORM]);
	struct lmd_op op = arch_op_empty(LMD_OP_EMBED);
	struct arch_ew p = arch_ew();
	uint8_t a;

	op.u.embed.y = arch_operand_all(e, tok);
	op.u.embed.table = arch_weight_req(e, &rows[N_PER_EMBD]).id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.scale = sqrtf((float)D_PER);
	op.u.embed.neg = LMD_NEG_ROW; /* external rows use the padding token, 0 */
	arch_emit_op(e, &op);
	arch_put_norm(e, arch_operand_heads(proj, 0, n, D_PER), &norm,
		      arch_operand_heads(unit, 0, n, D_PER));
	a = arch_ew_in(&p, arch_operand_all(e, tok));
	a = arch_ew2(&p, LMD_EW_ADD, a, arch_ew_in(&p, arch_operand_all(e, unit)));
	a = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_const(&p, ROOT_HALF));
	arch_ew_out(e, &p, a, arch_operand_all(e, y));
	return y;
}

/* The router weights of the streams: tanh(W norm(x) / width). */
static uint32_t modalities(struct arch_emit *e, struct lmd_operand x)
{
	struct lmd_norm norm = arch_norm_req(e, LMD_NORM_RMS, &rows[L_ROUTER_NORM]);

	return linear(e, x, &norm, &rows[L_ROUTER], LMD_ACT_FN_TANH, 1.0f / (float)x.width,
		      "modalities");
}

static uint32_t predict(struct arch_emit *e, uint32_t xs, uint32_t w)
{
	static const float identity[N_ALTUP * N_ALTUP] = {1, 0, 0, 0, 0, 1, 0, 0,
							  0, 0, 1, 0, 0, 0, 0, 1};
	uint32_t m = modalities(e, arch_operand_cols(xs, 0, w));
	uint32_t c = linear(e, arch_operand_all(e, m), NULL, &rows[L_PREDICT], LMD_ACT_FN_NONE,
			    1.0f, "predict");
	uint32_t ci = arch_value_f32(e, N_ALTUP * N_ALTUP, "predict_id"),
		 y = arch_value_f32(e, N_ALTUP * w, "predicted");
	struct lmd_op op = arch_op_empty(LMD_OP_MIX);

	arch_put_scale_add(
		e, arch_operand_all(e, c), 1.0f,
		arch_operand_weight_cols(arch_literal(e, identity, N_ALTUP * N_ALTUP,
						      LMD_SPLIT_REPLICATE, "identity"),
					 N_ALTUP * N_ALTUP),
		arch_operand_all(e, ci));
	op.u.mix.x = arch_operand_heads(xs, 0, N_ALTUP, w);
	op.u.mix.c = arch_operand_heads(ci, 0, N_ALTUP, N_ALTUP);
	op.u.mix.y = arch_operand_heads(y, 0, N_ALTUP, w);
	arch_emit_op(e, &op);
	return y;
}

/* Corrects the streams: predicted + (found - predicted[0]) * (1 + coefficient). */
static uint32_t correct(struct arch_emit *e, uint32_t predicted, uint32_t found, uint32_t w)
{
	uint32_t m = modalities(e, arch_operand_all(e, found));
	uint32_t c = linear(e, arch_operand_all(e, m), NULL, &rows[L_CORRECT], LMD_ACT_FN_NONE,
			    1.0f, "correct");
	uint32_t y = arch_value_f32(e, N_ALTUP * w, "corrected");
	struct arch_ew p = arch_ew();
	uint8_t d = arch_ew_in(&p, arch_operand_all(e, found));
	uint8_t k = arch_ew_in(&p, arch_operand_heads(c, 0, N_ALTUP, 1));

	d = arch_ew2(&p, LMD_EW_SUB, d, arch_ew_in(&p, arch_operand_cols(predicted, 0, w)));
	k = arch_ew2(&p, LMD_EW_ADD, k, arch_ew_const(&p, 1.0f));
	d = arch_ew3(&p, LMD_EW_FMA, d, k,
		     arch_ew_in(&p, arch_operand_heads(predicted, 0, N_ALTUP, w)));
	arch_ew_out(e, &p, d, arch_operand_heads(y, 0, N_ALTUP, w));
	return y;
}

/* (post(attention) + active + norm(LAuReL) + x) / sqrt 2 */
static uint32_t attention(struct arch_emit *e, const struct arch_decoder *d,
			  struct lmd_operand active)
{
	const uint32_t w = active.width;
	uint32_t x = normed(e, active, &arch_rows[T_ATTN_NORM], "attn_norm"),
		 y = arch_value_f32(e, w, "attn_laurel");
	uint32_t low = linear(e, arch_operand_all(e, x), NULL, &rows[L_LAUREL_L], LMD_ACT_FN_NONE,
			      1.0f, "laurel_l");
	uint32_t side = linear(e, arch_operand_all(e, low), NULL, &rows[L_LAUREL_R],
			       LMD_ACT_FN_NONE, 1.0f, "laurel_r");
	struct arch_block_io io = {arch_operand_all(e, x), arch_no_norm(), LMD_NONE, 1.0f};
	struct arch_attn attn = arch_decoder_attn(e, d, 0);
	struct arch_ew p = arch_ew();
	uint32_t z;
	uint8_t a;

	attn.v_norm = true;
	z = normed(e, arch_operand_all(e, arch_attn(e, &io, &attn)), &arch_rows[T_POST_ATTN_NORM],
		   "attn_post");
	side = normed(e, arch_operand_all(e, side), &rows[L_LAUREL_NORM], "laurel");
	a = arch_ew_in(&p, arch_operand_all(e, z));
	a = arch_ew2(&p, LMD_EW_ADD, a, arch_ew_in(&p, active));
	a = arch_ew2(&p, LMD_EW_ADD, a, arch_ew_in(&p, arch_operand_all(e, side)));
	a = arch_ew2(&p, LMD_EW_ADD, a, arch_ew_in(&p, arch_operand_all(e, x)));
	a = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_const(&p, ROOT_HALF));
	arch_ew_out(e, &p, a, arch_operand_all(e, y));
	return y;
}

/* max(0, gate - (mean + 1.645 sigma)), with the sample standard deviation (n - 1). */
static uint32_t sparse_gate(struct arch_emit *e, uint32_t gate)
{
	const uint32_t n = arch_width(e, gate);
	uint32_t unit = arch_value_f32(e, n, "gate_unit"), stat = arch_value_f32(e, 2, "gate_stat");
	uint32_t y = arch_value_f32(e, n, "gate_sparse");
	struct lmd_op op = arch_op_empty(LMD_OP_NORM);
	struct arch_ew p = arch_ew();
	uint8_t a, s;

	op.u.norm.x = arch_operand_all(e, gate);
	op.u.norm.y = arch_operand_all(e, unit);
	op.u.norm.stat = arch_operand_all(e, stat);
	op.u.norm.norm.kind = LMD_NORM_LAYER;
	arch_emit_op(e, &op);
	a = arch_ew_in(&p, arch_operand_all(e, gate));
	a = arch_ew2(&p, LMD_EW_SUB, a, arch_ew_in(&p, arch_operand_cols(stat, 0, 1)));
	s = arch_ew_in(&p, arch_operand_cols(stat, 1, 1));
	s = arch_ew2(&p, LMD_EW_DIV,
		     arch_ew_const(
			     &p, (float)(sqrt((double)n / ((double)n - 1.0)) * (double)SPARSE_STD)),
		     s);
	a = arch_ew2(&p, LMD_EW_SUB, a, s);
	a = arch_ew2(&p, LMD_EW_MAX, a, arch_ew_const(&p, 0.0f));
	arch_ew_out(e, &p, a, arch_operand_all(e, y));
	return y;
}

static uint32_t feed_forward(struct arch_emit *e, uint32_t x)
{
	const uint32_t w = arch_width(e, x);
	uint32_t h = normed(e, arch_operand_all(e, x), &arch_rows[T_FFN_NORM], "ffn_norm"),
		 y = arch_value_f32(e, w, "found");
	uint32_t gate = linear(e, arch_operand_all(e, h), NULL, &arch_rows[T_FFN_GATE],
			       LMD_ACT_FN_NONE, 1.0f, "gate");
	uint32_t up = linear(e, arch_operand_all(e, h), NULL, &arch_rows[T_FFN_UP], LMD_ACT_FN_NONE,
			     1.0f, "up");
	uint32_t act = arch_value_act(e, arch_width(e, up), "ffn_act"), z;

	if (e->il < (int32_t)N_SPARSE)
		gate = sparse_gate(e, gate);
	arch_put_glu(e, LMD_ACT_FN_GELU, NULL, arch_operand_all(e, gate), arch_operand_all(e, up),
		     arch_operand_all(e, act));
	z = linear(e, arch_operand_all(e, act), NULL, &arch_rows[T_FFN_DOWN], LMD_ACT_FN_NONE, 1.0f,
		   "ffn");
	z = normed(e, arch_operand_all(e, z), &arch_rows[T_POST_FFN_NORM], "ffn_post");
	arch_put_scale_add(e, arch_operand_all(e, z), 1.0f, arch_operand_all(e, x),
			   arch_operand_all(e, y));
	return y;
}

/* Adds the per-layer embedding, gated by stream 0, to the other streams. */
static uint32_t inject(struct arch_emit *e, uint32_t xs, uint32_t per_layer, uint32_t w)
{
	static const float others[N_ALTUP] = {0, 1, 1, 1};
	uint32_t first = arch_value_f32(e, w, "first"),
		 gated = arch_value_f32(e, D_PER, "per_gated"), g, z;
	uint32_t y = arch_value_f32(e, N_ALTUP * w, "streams");
	struct arch_ew p = arch_ew();
	uint8_t a, times, plus;

	arch_put_mul(e, arch_operand_cols(xs, 0, w),
		     arch_operand_weight_cols(arch_weight_req(e, &rows[L_CORRECT_SCALE]).id, w),
		     arch_operand_all(e, first));
	g = linear(e, arch_operand_all(e, first), NULL, &rows[L_INP_GATE], LMD_ACT_FN_GELU, 1.0f,
		   "per_gate");
	arch_put_mul(e, arch_operand_all(e, g),
		     arch_operand_cols(per_layer, (uint32_t)e->il * D_PER, D_PER),
		     arch_operand_all(e, gated));
	z = linear(e, arch_operand_all(e, gated), NULL, &rows[L_PROJ], LMD_ACT_FN_NONE, 1.0f,
		   "per_proj");
	z = normed(e, arch_operand_all(e, z), &rows[L_POST_NORM], "per_post");
	a = arch_ew_in(&p, arch_operand_all(e, z));
	plus = arch_ew_in(&p, arch_operand_heads(xs, 0, N_ALTUP, w));
	times = arch_ew_in(&p, arch_operand_weight_heads(arch_literal(e, others, N_ALTUP,
									LMD_SPLIT_REPLICATE, "others"),
							 N_ALTUP, 1));
	a = arch_ew3(&p, LMD_EW_FMA, a, times, plus);
	arch_ew_out(e, &p, a, arch_operand_heads(y, 0, N_ALTUP, w));
	return y;
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	struct arch_decoder d = *(const struct arch_decoder *)state;
	const uint32_t w = d.hp.n_embd;
	struct arch_residual s = {.z = LMD_NONE};
	struct lmd_norm norm;
	struct arch_emit e;
	uint32_t per_layer, xs;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED,
			"architecture gemma3n: plan kind %u is not supported", key->kind);
		return LMD_UNSUPPORTED;
	}
	d.key = key;
	arch_emit_init(&e, b, &d.hp, key);
	s.x = arch_embed(&e);
	per_layer = per_layer_inputs(&e, &d.hp, s.x);
	xs = make_streams(&e, s.x, w);
	for (uint32_t il = 0; il < d.hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		uint32_t predicted, found;

		arch_set_layer(&e, (int32_t)il);
		predicted = predict(&e, xs, w);
		found = feed_forward(&e, attention(&e, &d, arch_operand_cols(predicted, 0, w)));
		xs = inject(&e, correct(&e, predicted, found, w), per_layer, w);
	}
	arch_set_layer(&e, -1);
	s.x = gather_up(&e, xs, w);
	norm = arch_norm_req(&e, LMD_NORM_RMS, &arch_rows[T_OUTPUT_NORM]);
	arch_emit_outputs(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_gemma3n = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = describe,
	.dim = dim,
	.layer_class = arch_hp_layer_class,
	.build = build,
};
