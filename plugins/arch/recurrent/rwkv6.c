/* SPDX-License-Identifier: MIT
 *
 * RWKV-6 "Finch" (arXiv 2404.05892), and QRWKV-6, whose mixer is gated linear attention with shared
 * key heads in a Qwen2 layer.  A file with `time_mix_first` has the plain form.
 *
 * The five blends w, k, v, r, g depend on the row: their factors are constants plus
 * W2_i tanh(W1 (cur + (prev - cur) mu_x)).  Decay = exp(-exp(d0 + f(tanh))). */
#include <math.h>

#include "arch/recurrent/recurrent.h"
#include "arch/recurrent/rwkv.h"

enum { RANK_MIX, RANK_MIX5, RANK_DECAY };
#define D_RANK(r) (D_RWKV_RANK + (r))

enum mix_t {
	M_NORM, M_W1, M_W2, M_LERP_X, M_LERP, M_LERP_W, M_LERP_K, M_LERP_V, M_LERP_R, M_LERP_G,
	M_FIRST, M_DECAY, M_DECAY1, M_DECAY2, M_KEY, M_VALUE, M_RECEPTANCE, M_GATE, M_LN, M_OUT, M_N
};

#define R LMD_TENSOR_REQUIRED
#define B LMD_TENSOR_BIAS
#define KEEP LMD_TENSOR_KEEP_TYPE /* sensitive to rounding */
#define ROW(stem, d0, d1, flags, split)                                                            \
	{"blk.%d.time_mix_" stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, 0, NULL}

static const struct lmd_tensor_row mix_rows[M_N] = {
	[M_NORM] = {"blk.%d.attn_norm", {D_EMBD}, R | B, LMD_SPLIT_REPLICATE, 0, NULL},
	[M_W1] = ROW("w1", D_EMBD, D_RANK(RANK_MIX5), R | KEEP, REPLICATE),
	[M_W2] = {"blk.%d.time_mix_w2", {D_RANK(RANK_MIX), D_EMBD, LMD_DIM(5)}, R | KEEP,
		  LMD_SPLIT_REPLICATE, 0, NULL},
	[M_LERP_X] = ROW("lerp_x", D_EMBD, 0, R, REPLICATE),
	[M_LERP] = {"blk.%d.time_mix_lerp_fused", {D_EMBD, 0, 0, LMD_DIM(5)}, KEEP,
		    LMD_SPLIT_REPLICATE, 0, NULL},
	[M_LERP_W] = ROW("lerp_w", D_EMBD, 0, 0, REPLICATE),
	[M_LERP_K] = ROW("lerp_k", D_EMBD, 0, 0, REPLICATE),
	[M_LERP_V] = ROW("lerp_v", D_EMBD, 0, 0, REPLICATE),
	[M_LERP_R] = ROW("lerp_r", D_EMBD, 0, 0, REPLICATE),
	[M_LERP_G] = ROW("lerp_g", D_EMBD, 0, 0, REPLICATE),
	[M_FIRST] = ROW("first", D_RWKV_HEAD, D_RWKV_N_HEAD, KEEP, HEADS),
	[M_DECAY] = ROW("decay", D_EMBD, 0, R, REPLICATE),
	[M_DECAY1] = ROW("decay_w1", D_EMBD, D_RANK(RANK_DECAY), R | KEEP, REPLICATE),
	[M_DECAY2] = ROW("decay_w2", D_RANK(RANK_DECAY), D_EMBD, R | KEEP, HEADS),
	[M_KEY] = ROW("key", D_EMBD, D_RWKV_KV, R | B, HEADS),
	[M_VALUE] = ROW("value", D_EMBD, D_RWKV_KV, R | B, HEADS),
	[M_RECEPTANCE] = ROW("receptance", D_EMBD, D_EMBD, R | B, HEADS),
	[M_GATE] = ROW("gate", D_EMBD, D_EMBD, R, HEADS),
	[M_LN] = ROW("ln", D_EMBD, 0, B, REPLICATE),
	[M_OUT] = ROW("output", D_EMBD, D_EMBD, R, COLS),
};

static const struct lmd_tensor_set sets_rwkv[] = {
	ARCH_SET_GLOBAL, ARCH_ROWS_REQ(T_TOKEN_EMBD_NORM, T_TOKEN_EMBD_NORM),
	ARCH_ROWS_OWN(mix_rows), ARCH_ROWS_OWN(rwkv_channel_rows)};
static const struct lmd_tensor_set sets_qwen[] = {ARCH_SET_GLOBAL, ARCH_ROWS_OWN(mix_rows),
						  ARCH_SET_FFN_NORM, ARCH_SET_FFN};

enum { X_W, X_K, X_V, X_R, X_G, X_N };

/* The five blends side by side. */
static uint32_t blends(struct arch_emit *e, const struct rwkv *m, uint32_t cur, uint32_t prev)
{
	const uint32_t w = m->hp.n_embd, rank = m->rank[RANK_MIX];
	uint32_t x =
		rwkv_blend(e, cur, prev, 1,
			   arch_operand_weight_cols(arch_weight_req(e, &mix_rows[M_LERP_X]).id, w),
			   arch_operand_none());
	uint32_t h =
		rwkv_linear(e, arch_operand_all(e, x), &mix_rows[M_W1], LMD_ACT_FN_TANH, "blend_h");
	uint32_t more = arch_value_f32(e, X_N * w, "blend_more"), y;
	struct lmd_op op = arch_op_empty(LMD_OP_BMM);

	op.u.bmm.x = arch_operand_heads(h, 0, X_N, rank);
	op.u.bmm.w = arch_weight_req(e, &mix_rows[M_W2]).id;
	op.u.bmm.y = arch_operand_heads(more, 0, X_N, w);
	arch_emit_op(e, &op);
	if (arch_weight_exists(e, &mix_rows[M_LERP]))
		return rwkv_blend(
			e, cur, prev, X_N,
			arch_operand_weight_heads(arch_weight_req(e, &mix_rows[M_LERP]).id, X_N, w),
			arch_operand_heads(more, 0, X_N, w));
	y = arch_value_act(e, X_N * w, "blends");
	for (uint32_t i = 0; i < X_N; i++) {
		struct arch_ew p = arch_ew();
		uint8_t c = arch_ew_in(&p, arch_operand_all(e, cur)),
			v = arch_ew_in(&p, arch_operand_all(e, prev));
		uint8_t f =
			arch_ew_in(&p, arch_operand_weight_cols(
					       arch_weight_req(e, &mix_rows[M_LERP_W + i]).id, w));

		f = arch_ew2(&p, LMD_EW_ADD, f, arch_ew_in(&p, arch_operand_cols(more, i * w, w)));
		v = arch_ew2(&p, LMD_EW_SUB, v, c);
		arch_ew_out(e, &p, arch_ew3(&p, LMD_EW_FMA, v, f, c),
			    arch_operand_cols(y, i * w, w));
	}
	return y;
}

static uint32_t decay(struct arch_emit *e, const struct rwkv *m, struct lmd_operand x)
{
	const uint32_t w = m->hp.n_embd;
	uint32_t f = rwkv_low_rank(e, x, &mix_rows[M_DECAY1], LMD_ACT_FN_TANH, &mix_rows[M_DECAY2],
				   "decay_f");
	uint32_t y = arch_value_f32(e, w, "decay");
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, arch_operand_all(e, f)), minus;

	a = arch_ew2(&p, LMD_EW_ADD, a,
		     arch_ew_in(&p, arch_operand_weight_cols(
					    arch_weight_req(e, &mix_rows[M_DECAY]).id, w)));
	minus = arch_ew_const(&p, -1.0f);
	a = arch_ew2(&p, LMD_EW_MUL, arch_ew1(&p, LMD_EW_EXP, a), minus);
	arch_ew_out(e, &p, arch_ew1(&p, LMD_EW_EXP, a), arch_operand_all(e, y));
	return y;
}

/* k (1 - decay) for every head; a key head is shared by neighbouring heads. */
static uint32_t scale_keys(struct arch_emit *e, const struct rwkv *m, uint32_t k, uint32_t w)
{
	const uint32_t d = m->d, n = m->n_head / m->n_head_kv;
	uint32_t y = arch_value_f32(e, m->hp.n_embd, "k_scaled");

	for (uint32_t i = 0; i < m->n_head_kv; i++) {
		struct arch_ew p = arch_ew();
		uint8_t a = arch_ew_in(&p, arch_operand_cols(k, i * d, d));
		uint8_t f = arch_ew_in(&p, arch_operand_heads(w, i * n * d, n, d));

		f = arch_ew2(&p, LMD_EW_SUB, arch_ew_const(&p, 1.0f), f);
		arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_MUL, a, f),
			    arch_operand_heads(y, i * n * d, n, d));
	}
	return y;
}

static uint32_t repeat_heads(struct arch_emit *e, const struct rwkv *m, uint32_t v)
{
	const uint32_t d = m->d, n = m->n_head / m->n_head_kv;
	uint32_t y;

	if (n == 1)
		return v;
	y = arch_value_f32(e, m->hp.n_embd, "v_heads");
	for (uint32_t i = 0; i < m->n_head_kv; i++) {
		struct lmd_op op = arch_op_empty(LMD_OP_CAST_COPY);

		op.u.cast_copy.x = arch_operand_heads(v, i * d, n, d);
		op.u.cast_copy.x.head_stride = 0;
		op.u.cast_copy.y = arch_operand_heads(y, i * n * d, n, d);
		arch_emit_op(e, &op);
	}
	return y;
}

static uint32_t scan(struct arch_emit *e, const struct rwkv *m, uint32_t r, uint32_t k, uint32_t v,
		     uint32_t w, bool plain)
{
	const uint32_t d = m->d, h = m->n_head;
	uint32_t y = arch_value_f32(e, m->hp.n_embd, "scan");
	struct lmd_op op = arch_op_empty(LMD_OP_SCAN);

	if (!plain) {
		k = scale_keys(e, m, k, w);
		v = repeat_heads(e, m, v);
	}
	op.u.scan.in[0] = arch_operand_heads(r, 0, h, d);
	op.u.scan.in[1] = arch_operand_heads(k, 0, h, d);
	op.u.scan.in[2] = arch_operand_heads(v, 0, h, d);
	op.u.scan.in[3] = arch_operand_heads(w, 0, h, d);
	op.u.scan.y = arch_operand_heads(y, 0, h, d);
	op.u.scan.kind = plain ? LMD_SCAN_RWKV6 : LMD_SCAN_GLA;
	if (plain)
		op.u.scan.w[0] = arch_weight_req(e, &mix_rows[M_FIRST]).id;
	else
		op.u.scan.scale = (float)(1.0 / sqrt((double)d));
	op.u.scan.n_head = op.u.scan.n_key_head = h;
	op.u.scan.dk = op.u.scan.dv = d;
	op.u.scan.cache = m->scan[e->il];
	arch_emit_op(e, &op);
	return y;
}

static uint32_t time_mix(struct arch_emit *e, const struct rwkv *m, uint32_t x, uint32_t *v_first)
{
	const uint32_t w = m->hp.n_embd;
	const bool plain = arch_weight_exists(e, &mix_rows[M_FIRST]);
	struct lmd_norm norm = arch_norm_req(e, m->hp.norm_kind, &mix_rows[M_NORM]);
	struct arch_weight wo = arch_weight_req(e, &mix_rows[M_OUT]);
	uint32_t cur = arch_value_f32(e, w, "attn_norm"), gated = arch_value_act(e, w, "gated");
	uint32_t prev, b, r, k, v, g, y;

	(void)v_first;
	if (plain && m->n_head != m->n_head_kv)
		e->b->fail(e->b->ctx, LMD_INVALID,
			   "blk.%d.time_mix_first: %u key heads, expected %u", (int)e->il,
			   m->n_head_kv, m->n_head);
	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, cur));
	prev = rwkv_shift(e, cur, m->shift_att[e->il]);
	b = blends(e, m, cur, prev);
	r = rwkv_linear(e, arch_operand_cols(b, X_R * w, w), &mix_rows[M_RECEPTANCE],
			LMD_ACT_FN_NONE, "r");
	k = rwkv_linear(e, arch_operand_cols(b, X_K * w, w), &mix_rows[M_KEY], LMD_ACT_FN_NONE,
			"k");
	v = rwkv_linear(e, arch_operand_cols(b, X_V * w, w), &mix_rows[M_VALUE], LMD_ACT_FN_NONE,
			"v");
	g = rwkv_linear(e, arch_operand_cols(b, X_G * w, w), &mix_rows[M_GATE],
			plain ? LMD_ACT_FN_SILU : LMD_ACT_FN_SIGMOID, "gate");
	y = scan(e, m, r, k, v, decay(e, m, arch_operand_cols(b, X_W * w, w)), plain);
	if (plain)
		y = rwkv_head_norm(e, m, y, &mix_rows[M_LN]);
	arch_put_mul(e, arch_operand_all(e, y), arch_operand_all(e, g), arch_operand_all(e, gated));
	return arch_block_out(e, arch_operand_all(e, gated), NULL, &wo,
			      &(struct arch_block_io){.res = x, .a = 1.0f});
}

static void ranks(struct rwkv *m, struct arch_keys *k)
{
	m->rank[RANK_MIX] =
		arch_key_u32(k, "time_mix_extra_dim", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH / 8);
	m->rank[RANK_MIX5] = X_N * m->rank[RANK_MIX];
	m->rank[RANK_DECAY] =
		arch_key_u32(k, "time_decay_extra_dim", ARCH_REQUIRED, 1, 1, ARCH_KEY_MAX_WIDTH);
	m->rescale = arch_key_u32(k, "rescale_every_n_layers", ARCH_OPTIONAL, 0, 0, ARCH_MAX_LAYER);
}

static const struct rwkv_kind kind = {ranks, time_mix};

RWKV_ARCH(rwkv6, kind, false, sets_rwkv)
RWKV_ARCH(rwkv6qwen2, kind, true, sets_qwen)
