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
#define C(n) LMD_DIM(n)
#define ROW(stem, d0, d1, d2, flags, split) {stem, {d0, d1, d2}, flags, LMD_SPLIT_##split, 0, NULL}
#define BLK(stem, d0, d1, split) ROW("blk.%d." stem, d0, d1, 0, R, split)

static const struct lmd_tensor_row rows[N_ROWS] = {
	[N_ALTUP_PROJ] = ROW("altup_proj", D_EMBD, D_EMBD, C(N_ALTUP - 1), RG, REPLICATE),
	[N_ALTUP_UNEMBD] = ROW("altup_unembd_proj", D_EMBD, D_EMBD, C(N_ALTUP - 1), RG, REPLICATE),
	[N_PER_EMBD] = ROW("per_layer_token_embd", D_PER_ALL, D_VOCAB, 0, RG, REPLICATE),
	[N_PER_PROJ] = ROW("per_layer_model_proj", D_EMBD, D_PER_ALL, 0, RG, REPLICATE),
	[N_PER_NORM] = ROW("per_layer_proj_norm", C(D_PER), 0, 0, RG, REPLICATE),
	[L_PREDICT] = BLK("altup_predict_coef", C(N_ALTUP), C(N_ALTUP * N_ALTUP), REPLICATE),
	[L_CORRECT] = BLK("altup_correct_coef", C(N_ALTUP), C(N_ALTUP), REPLICATE),
	[L_CORRECT_SCALE] = BLK("altup_correct_scale", D_EMBD, 0, REPLICATE),
	[L_ROUTER] = BLK("altup_router", D_EMBD, C(N_ALTUP), REPLICATE),
	[L_ROUTER_NORM] = BLK("altup_router_norm", D_EMBD, 0, REPLICATE),
	[L_LAUREL_L] = BLK("laurel_l", D_EMBD, C(LAUREL), REPLICATE),
	[L_LAUREL_R] = BLK("laurel_r", C(LAUREL), D_EMBD, REPLICATE),
	[L_LAUREL_NORM] = BLK("laurel_post_norm", D_EMBD, 0, REPLICATE),
	[L_INP_GATE] = BLK("inp_gate", D_EMBD, C(D_PER), REPLICATE),
	[L_PROJ] = BLK("proj", C(D_PER), D_EMBD, REPLICATE),
	[L_POST_NORM] = BLK("post_norm", D_EMBD, 0, REPLICATE),
};

static const struct lmd_tensor_set sets[] = {
	LMI_SET_GLOBAL,    LMI_SET_ATTN_NORM, LMI_SET_QKV,
	LMI_SET_QK_NORM,   LMI_REQ(T_POST_ATTN_NORM, T_POST_ATTN_NORM),
	LMI_SET_FFN_NORM,  LMI_SET_FFN,       LMI_REQ(T_POST_FFN_NORM, T_POST_FFN_NORM),
	LMI_OWN(rows),
};

static void adjust(struct lmi_hparams *hp, struct lmi_keys *k)
{
	hp->embd_scale = sqrtf((float)hp->n_embd);
	hp->attn_scale = 1.0f;
	hp->logit_softcap = 30.0f;
	lmi_hp_rope_window(hp, k, 10000.0, true);
	for (uint32_t il = N_KV; il < hp->n_layer; il++)
		hp->layer[il].kv_layer = hp->layer[il].window ? N_KV - 2 : N_KV - 1;
	if (hp->n_layer > LMD_DIM_CONST / D_PER)
		lmi_key_fail(k, LMD_INVALID, "gemma3n.block_count: %u layers, maximum %u",
			     hp->n_layer, LMD_DIM_CONST / D_PER);
	for (uint32_t il = 0; il < hp->n_layer; il++) {
		const struct lmi_layer *a = &hp->layer[il], *b = &hp->layer[a->kv_layer];

		if (a->n_head_kv != b->n_head_kv || (a->window != 0) != (b->window != 0))
			lmi_key_fail(k, LMD_INVALID,
				     "gemma3n: layer %u cannot read the keys of layer %u, which is "
				     "of a different kind",
				     il, a->kv_layer);
	}
}

static const struct lmi_decoder_traits traits = {
	.hp = {.norm_kind = LMD_NORM_RMS, .rope_pairing = LMD_ROPE_HALVES, .window = true,
	       .window_need = LMI_REQUIRED, .window_period = 5},
	.qk_norm = LMI_QKN_HEAD,
	.adjust = adjust,
};

static enum lmd_status describe(const struct lmd_host *host, struct lmd_arena *arena,
				const struct lmd_model *model, const struct lmd_arch_params *params,
				struct lmd_arch_desc *out, struct lmd_error *err)
{
	return lmi_decoder_describe(&traits, sets, LMD_LEN(sets), host, arena, model, params, out,
				    err);
}

static int64_t dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct lmi_hparams *hp = state;

	return symbol == D_PER_ALL ? (int64_t)D_PER * hp->n_layer
				   : lmi_hp_dim(state, symbol, layer);
}

/* ---- pieces ---- */

static uint32_t linear(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_norm *norm,
		       const struct lmd_tensor_row *row, uint32_t act, float scale,
		       const char *name)
{
	struct lmi_w w = lmi_w(e, row);
	struct lmd_op op = lmi_op(LMD_OP_LINEAR);
	uint32_t y = lmi_f32(e, w.n, name);

	op.u.linear.x = x;
	if (norm)
		op.u.linear.pro = *norm;
	op.u.linear.n_w = 1;
	op.u.linear.w[0] = w.id;
	op.u.linear.lora_site[0] = w.site;
	op.u.linear.act = act;
	op.u.linear.scale = scale;
	op.u.linear.y[0] = lmi_whole(e, y);
	lmi_put(e, &op);
	return y;
}

static uint32_t normed(struct lmi_emit *e, struct lmd_opnd x, const struct lmd_tensor_row *row,
		       const char *name)
{
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, row);
	uint32_t y = lmi_f32(e, x.width, name);

	lmi_put_norm(e, x, &norm, lmi_whole(e, y));
	return y;
}

/* Sum of squares of a row. */
static uint32_t square_sum(struct lmi_emit *e, struct lmd_opnd x)
{
	uint32_t sq = lmi_f32(e, x.width, "squares"), y = lmi_f32(e, 1, "square_sum");
	struct lmd_op op = lmi_op(LMD_OP_REDUCE);

	lmi_put_mul(e, x, x, lmi_whole(e, sq));
	op.u.reduce.x = lmi_whole(e, sq);
	op.u.reduce.y = lmi_whole(e, y);
	op.u.reduce.kind = LMD_REDUCE_SUM;
	op.u.reduce.axis = LMD_AXIS_ROW;
	lmi_put(e, &op);
	return y;
}

/* Multiplies by the matrices of three streams and scales each result to unit length. */
static uint32_t unit_streams(struct lmi_emit *e, struct lmd_opnd x,
			     const struct lmd_tensor_row *row)
{
	const uint32_t w = x.width, n = N_ALTUP - 1;
	uint32_t v = lmi_f32(e, n * w, "altup"), y = lmi_f32(e, n * w, "altup_unit");
	struct lmd_norm unit = lmi_no_norm();
	struct lmd_op op = lmi_op(LMD_OP_BMM);

	op.u.bmm.x = x;
	op.u.bmm.w = lmi_w(e, row).id;
	op.u.bmm.y = lmi_heads(v, 0, n, w);
	lmi_put(e, &op);
	unit.kind = LMD_NORM_L2;
	lmi_put_norm(e, lmi_heads(v, 0, n, w), &unit, lmi_heads(y, 0, n, w));
	return y;
}

/* Creates the streams: stream 0 is the embedding, the others are projections of it, scaled to its
 * length. */
static uint32_t spread(struct lmi_emit *e, uint32_t x, uint32_t w)
{
	struct lmd_opnd repeated = lmi_heads(x, 0, N_ALTUP - 1, w);
	uint32_t sum = square_sum(e, lmi_whole(e, x)), unit, y = lmi_f32(e, N_ALTUP * w, "streams");
	struct lmd_op copy = lmi_op(LMD_OP_CAST_COPY);
	struct lmi_ew p = lmi_ew();
	uint8_t a;

	repeated.head_stride = 0;
	unit = unit_streams(e, repeated, &rows[N_ALTUP_PROJ]);
	copy.u.cast_copy.x = lmi_whole(e, x);
	copy.u.cast_copy.y = lmi_cols(y, 0, w);
	lmi_put(e, &copy);
	a = lmi_ew1(&p, LMD_EW_SQRT, lmi_ew_in(&p, lmi_whole(e, sum)));
	a = lmi_ew2(&p, LMD_EW_MUL, a, lmi_ew_in(&p, lmi_heads(unit, 0, N_ALTUP - 1, w)));
	lmi_ew_out(e, &p, a, lmi_heads(y, w, N_ALTUP - 1, w));
	return y;
}

/* The mean of stream 0 and the others, which are first projected and scaled to its length. */
static uint32_t gather_up(struct lmi_emit *e, uint32_t xs, uint32_t w)
{
	uint32_t sum = square_sum(e, lmi_cols(xs, 0, w)), y = lmi_f32(e, w, "x");
	uint32_t unit = unit_streams(e, lmi_heads(xs, w, N_ALTUP - 1, w), &rows[N_ALTUP_UNEMBD]);
	struct lmi_ew p = lmi_ew();
	uint8_t a = lmi_ew_in(&p, lmi_cols(unit, 0, w));
	uint8_t len = lmi_ew1(&p, LMD_EW_SQRT, lmi_ew_in(&p, lmi_whole(e, sum)));

	for (uint32_t i = 1; i < N_ALTUP - 1; i++)
		a = lmi_ew2(&p, LMD_EW_ADD, a, lmi_ew_in(&p, lmi_cols(unit, i * w, w)));
	a = lmi_ew3(&p, LMD_EW_FMA, a, len, lmi_ew_in(&p, lmi_cols(xs, 0, w)));
	a = lmi_ew2(&p, LMD_EW_MUL, a, lmi_ew_const(&p, 1.0f / (float)N_ALTUP));
	lmi_ew_out(e, &p, a, lmi_whole(e, y));
	return y;
}

/* (norm(W x) + E[token] * 16) / sqrt 2, D_PER columns for each layer. */
static uint32_t per_layer_inputs(struct lmi_emit *e, const struct lmi_hparams *hp, uint32_t x)
{
	const uint32_t n = hp->n_layer;
	uint32_t tok = lmi_f32(e, n * D_PER, "per_layer_tok"),
		 y = lmi_f32(e, n * D_PER, "per_layer");
	uint32_t proj = linear(e, lmi_whole(e, x), NULL, &rows[N_PER_PROJ], LMD_ACT_NONE,
			       1.0f / sqrtf((float)hp->n_embd), "per_layer_proj");
	uint32_t unit = lmi_f32(e, n * D_PER, "per_layer_norm");
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &rows[N_PER_NORM]);
	struct lmd_op op = lmi_op(LMD_OP_EMBED);
	struct lmi_ew p = lmi_ew();
	uint8_t a;

	op.u.embed.y = lmi_whole(e, tok);
	op.u.embed.table = lmi_w(e, &rows[N_PER_EMBD]).id;
	op.u.embed.idx_kind = LMD_IDX_TOKEN;
	op.u.embed.scale = sqrtf((float)D_PER);
	op.u.embed.neg = LMD_NEG_ROW; /* external rows use the padding token, 0 */
	lmi_put(e, &op);
	lmi_put_norm(e, lmi_heads(proj, 0, n, D_PER), &norm, lmi_heads(unit, 0, n, D_PER));
	a = lmi_ew_in(&p, lmi_whole(e, tok));
	a = lmi_ew2(&p, LMD_EW_ADD, a, lmi_ew_in(&p, lmi_whole(e, unit)));
	a = lmi_ew2(&p, LMD_EW_MUL, a, lmi_ew_const(&p, ROOT_HALF));
	lmi_ew_out(e, &p, a, lmi_whole(e, y));
	return y;
}

/* The router weights of the streams: tanh(W norm(x) / width). */
static uint32_t modalities(struct lmi_emit *e, struct lmd_opnd x)
{
	struct lmd_norm norm = lmi_norm_req(e, LMD_NORM_RMS, &rows[L_ROUTER_NORM]);

	return linear(e, x, &norm, &rows[L_ROUTER], LMD_ACT_TANH, 1.0f / (float)x.width,
		      "modalities");
}

static uint32_t predict(struct lmi_emit *e, uint32_t xs, uint32_t w)
{
	static const float identity[N_ALTUP * N_ALTUP] = {1, 0, 0, 0, 0, 1, 0, 0,
							  0, 0, 1, 0, 0, 0, 0, 1};
	uint32_t m = modalities(e, lmi_cols(xs, 0, w));
	uint32_t c =
		linear(e, lmi_whole(e, m), NULL, &rows[L_PREDICT], LMD_ACT_NONE, 1.0f, "predict");
	uint32_t ci = lmi_f32(e, N_ALTUP * N_ALTUP, "predict_id"),
		 y = lmi_f32(e, N_ALTUP * w, "predicted");
	struct lmd_op op = lmi_op(LMD_OP_MIX);

	lmi_put_scale_add(e, lmi_whole(e, c), 1.0f,
			  lmi_wcols(lmi_literal(e, identity, N_ALTUP * N_ALTUP, "identity"),
				    N_ALTUP * N_ALTUP),
			  lmi_whole(e, ci));
	op.u.mix.x = lmi_heads(xs, 0, N_ALTUP, w);
	op.u.mix.c = lmi_heads(ci, 0, N_ALTUP, N_ALTUP);
	op.u.mix.y = lmi_heads(y, 0, N_ALTUP, w);
	lmi_put(e, &op);
	return y;
}

/* Corrects the streams: predicted + (found - predicted[0]) * (1 + coefficient). */
static uint32_t correct(struct lmi_emit *e, uint32_t predicted, uint32_t found, uint32_t w)
{
	uint32_t m = modalities(e, lmi_whole(e, found));
	uint32_t c =
		linear(e, lmi_whole(e, m), NULL, &rows[L_CORRECT], LMD_ACT_NONE, 1.0f, "correct");
	uint32_t y = lmi_f32(e, N_ALTUP * w, "corrected");
	struct lmi_ew p = lmi_ew();
	uint8_t d = lmi_ew_in(&p, lmi_whole(e, found));
	uint8_t k = lmi_ew_in(&p, lmi_heads(c, 0, N_ALTUP, 1));

	d = lmi_ew2(&p, LMD_EW_SUB, d, lmi_ew_in(&p, lmi_cols(predicted, 0, w)));
	k = lmi_ew2(&p, LMD_EW_ADD, k, lmi_ew_const(&p, 1.0f));
	d = lmi_ew3(&p, LMD_EW_FMA, d, k, lmi_ew_in(&p, lmi_heads(predicted, 0, N_ALTUP, w)));
	lmi_ew_out(e, &p, d, lmi_heads(y, 0, N_ALTUP, w));
	return y;
}

/* (post(attention) + active + norm(LAuReL) + x) / sqrt 2 */
static uint32_t attention(struct lmi_emit *e, const struct lmi_decoder *d, struct lmd_opnd active)
{
	const uint32_t w = active.width;
	uint32_t x = normed(e, active, &lmi_rows[T_ATTN_NORM], "attn_norm"),
		 y = lmi_f32(e, w, "attn_laurel");
	uint32_t low =
		linear(e, lmi_whole(e, x), NULL, &rows[L_LAUREL_L], LMD_ACT_NONE, 1.0f, "laurel_l");
	uint32_t side = linear(e, lmi_whole(e, low), NULL, &rows[L_LAUREL_R], LMD_ACT_NONE, 1.0f,
			       "laurel_r");
	struct lmi_io io = {lmi_whole(e, x), lmi_no_norm(), LMD_NONE, 1.0f};
	struct lmi_attn attn = lmi_decoder_attn(e, d, 0);
	struct lmi_ew p = lmi_ew();
	uint32_t z;
	uint8_t a;

	attn.v_norm = true;
	z = normed(e, lmi_whole(e, lmi_attn(e, &io, &attn)), &lmi_rows[T_POST_ATTN_NORM],
		   "attn_post");
	side = normed(e, lmi_whole(e, side), &rows[L_LAUREL_NORM], "laurel");
	a = lmi_ew_in(&p, lmi_whole(e, z));
	a = lmi_ew2(&p, LMD_EW_ADD, a, lmi_ew_in(&p, active));
	a = lmi_ew2(&p, LMD_EW_ADD, a, lmi_ew_in(&p, lmi_whole(e, side)));
	a = lmi_ew2(&p, LMD_EW_ADD, a, lmi_ew_in(&p, lmi_whole(e, x)));
	a = lmi_ew2(&p, LMD_EW_MUL, a, lmi_ew_const(&p, ROOT_HALF));
	lmi_ew_out(e, &p, a, lmi_whole(e, y));
	return y;
}

/* max(0, gate - (mean + 1.645 sigma)), with the sample standard deviation (n - 1). */
static uint32_t sparse_gate(struct lmi_emit *e, uint32_t gate)
{
	const uint32_t n = lmi_width(e, gate);
	uint32_t unit = lmi_f32(e, n, "gate_unit"), stat = lmi_f32(e, 2, "gate_stat");
	uint32_t y = lmi_f32(e, n, "gate_sparse");
	struct lmd_op op = lmi_op(LMD_OP_NORM);
	struct lmi_ew p = lmi_ew();
	uint8_t a, s;

	op.u.norm.x = lmi_whole(e, gate);
	op.u.norm.y = lmi_whole(e, unit);
	op.u.norm.stat = lmi_whole(e, stat);
	op.u.norm.norm.kind = LMD_NORM_LAYER;
	lmi_put(e, &op);
	a = lmi_ew_in(&p, lmi_whole(e, gate));
	a = lmi_ew2(&p, LMD_EW_SUB, a, lmi_ew_in(&p, lmi_cols(stat, 0, 1)));
	s = lmi_ew_in(&p, lmi_cols(stat, 1, 1));
	s = lmi_ew2(
		&p, LMD_EW_DIV,
		lmi_ew_const(&p, (float)(sqrt((double)n / ((double)n - 1.0)) * (double)SPARSE_STD)),
		s);
	a = lmi_ew2(&p, LMD_EW_SUB, a, s);
	a = lmi_ew2(&p, LMD_EW_MAX, a, lmi_ew_const(&p, 0.0f));
	lmi_ew_out(e, &p, a, lmi_whole(e, y));
	return y;
}

static uint32_t feed_forward(struct lmi_emit *e, uint32_t x)
{
	const uint32_t w = lmi_width(e, x);
	uint32_t h = normed(e, lmi_whole(e, x), &lmi_rows[T_FFN_NORM], "ffn_norm"),
		 y = lmi_f32(e, w, "found");
	uint32_t gate =
		linear(e, lmi_whole(e, h), NULL, &lmi_rows[T_FFN_GATE], LMD_ACT_NONE, 1.0f, "gate");
	uint32_t up =
		linear(e, lmi_whole(e, h), NULL, &lmi_rows[T_FFN_UP], LMD_ACT_NONE, 1.0f, "up");
	uint32_t act = lmi_act(e, lmi_width(e, up), "ffn_act"), z;

	if (e->il < (int32_t)N_SPARSE)
		gate = sparse_gate(e, gate);
	lmi_put_glu(e, LMD_ACT_GELU, NULL, lmi_whole(e, gate), lmi_whole(e, up), lmi_whole(e, act));
	z = linear(e, lmi_whole(e, act), NULL, &lmi_rows[T_FFN_DOWN], LMD_ACT_NONE, 1.0f, "ffn");
	z = normed(e, lmi_whole(e, z), &lmi_rows[T_POST_FFN_NORM], "ffn_post");
	lmi_put_scale_add(e, lmi_whole(e, z), 1.0f, lmi_whole(e, x), lmi_whole(e, y));
	return y;
}

/* Adds the per-layer embedding, gated by stream 0, to the other streams. */
static uint32_t inject(struct lmi_emit *e, uint32_t xs, uint32_t per_layer, uint32_t w)
{
	static const float others[N_ALTUP] = {0, 1, 1, 1};
	uint32_t first = lmi_f32(e, w, "first"), gated = lmi_f32(e, D_PER, "per_gated"), g, z;
	uint32_t y = lmi_f32(e, N_ALTUP * w, "streams");
	struct lmi_ew p = lmi_ew();
	uint8_t a, times, plus;

	lmi_put_mul(e, lmi_cols(xs, 0, w), lmi_wcols(lmi_w(e, &rows[L_CORRECT_SCALE]).id, w),
		    lmi_whole(e, first));
	g = linear(e, lmi_whole(e, first), NULL, &rows[L_INP_GATE], LMD_ACT_GELU, 1.0f, "per_gate");
	lmi_put_mul(e, lmi_whole(e, g), lmi_cols(per_layer, (uint32_t)e->il * D_PER, D_PER),
		    lmi_whole(e, gated));
	z = linear(e, lmi_whole(e, gated), NULL, &rows[L_PROJ], LMD_ACT_NONE, 1.0f, "per_proj");
	z = normed(e, lmi_whole(e, z), &rows[L_POST_NORM], "per_post");
	a = lmi_ew_in(&p, lmi_whole(e, z));
	plus = lmi_ew_in(&p, lmi_heads(xs, 0, N_ALTUP, w));
	times = lmi_ew_in(
		&p, lmi_wheads(lmi_literal(e, others, N_ALTUP, "others"), N_ALTUP, 1));
	a = lmi_ew3(&p, LMD_EW_FMA, a, times, plus);
	lmi_ew_out(e, &p, a, lmi_heads(y, 0, N_ALTUP, w));
	return y;
}

static enum lmd_status build(const void *state, const struct lmd_builder *b,
			     const struct lmd_plan_key *key)
{
	struct lmi_decoder d = *(const struct lmi_decoder *)state;
	const uint32_t w = d.hp.n_embd;
	struct lmi_stream s = {.z = LMD_NONE};
	struct lmd_norm norm;
	struct lmi_emit e;
	uint32_t per_layer, xs;

	if (key->kind != LMD_PLAN_FORWARD) {
		b->fail(b->ctx, LMD_UNSUPPORTED,
			"architecture gemma3n: plan kind %u is not supported", key->kind);
		return LMD_UNSUPPORTED;
	}
	d.key = key;
	lmi_emit_init(&e, b, &d.hp, key);
	s.x = lmi_embed(&e);
	per_layer = per_layer_inputs(&e, &d.hp, s.x);
	xs = spread(&e, s.x, w);
	for (uint32_t il = 0; il < d.hp.n_layer && b->status(b->ctx) == LMD_OK; il++) {
		uint32_t predicted, found;

		lmi_layer(&e, (int32_t)il);
		predicted = predict(&e, xs, w);
		found = feed_forward(&e, attention(&e, &d, lmi_cols(predicted, 0, w)));
		xs = inject(&e, correct(&e, predicted, found, w), per_layer, w);
	}
	lmi_layer(&e, -1);
	s.x = gather_up(&e, xs, w);
	norm = lmi_norm_req(&e, LMD_NORM_RMS, &lmi_rows[T_OUTPUT_NORM]);
	lmi_finish(&e, key, &s, &norm, NULL, LMD_NONE);
	return b->status(b->ctx);
}

const struct lmd_arch_ops arch_gemma3n = {
	.struct_size = sizeof(struct lmd_arch_ops), .n_sets = LMD_LEN(sets), .sets = sets,
	.describe = describe, .dim = dim, .layer_class = lmi_hp_layer_class, .build = build,
};
