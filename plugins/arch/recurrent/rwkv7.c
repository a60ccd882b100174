/* SPDX-License-Identifier: MIT
 *
 * RWKV-7 "Goose" (arXiv 2503.14456), and ARWKV-7 (arXiv 2501.15570), which has its mixer in a Qwen2
 * layer.
 *
 * There are six blends r, w, k, v, a, g of a row and the previous row.  With low-rank products f:
 *   decay  w = exp(-0.606531 sigmoid(w0 + f_w(tanh)))      (0.606531 = exp(-1/2))
 *   v      of later layers is interpolated towards that of layer 0 by sigmoid(v0 + f_v)
 *   a      = sigmoid(a0 + f_a);  kk = l2(k * k_k) per head;  k' = k (1 + (a - 1) k_a)
 *   y      = state scan of r, w, k', v, -kk, kk a; norm of heads; + v sum(r k' r_k); * gate */
#include "arch/recurrent/recurrent.h"
#include "arch/recurrent/rwkv.h"

enum { RANK_DECAY, RANK_ICLR, RANK_V, RANK_GATE };
#define D_RANK(r) (D_RWKV_RANK + (r))

enum mix_t {
	M_NORM, M_LERP, M_W0, M_W1, M_W2, M_A0, M_A1, M_A2, M_V0, M_V1, M_V2, M_G1, M_G2, M_KK,
	M_KA, M_RK, M_KEY, M_VALUE, M_RECEPTANCE, M_LN, M_OUT, M_N
};

#define R LMD_TENSOR_REQUIRED
#define B LMD_TENSOR_BIAS
#define KEEP LMD_TENSOR_KEEP_TYPE /* sensitive to rounding */
#define ROW(stem, d0, d1, flags, split)                                                            \
	{"blk.%d." stem, {d0, d1}, (flags) | ARCH_LORA(split), LMD_SPLIT_##split, 0, NULL}

static const struct lmd_tensor_row mix_rows[M_N] = {
	[M_NORM] = ROW("attn_norm", D_EMBD, 0, R | B, REPLICATE),
	[M_LERP] = {"blk.%d.time_mix_lerp_fused", {D_EMBD}, R | LMD_TENSOR_ANY_SHAPE | KEEP,
		    LMD_SPLIT_REPLICATE, 0, NULL},
	[M_W0] = ROW("time_mix_w0", D_EMBD, 0, R | KEEP, REPLICATE),
	[M_W1] = ROW("time_mix_w1", D_EMBD, D_RANK(RANK_DECAY), R | KEEP, REPLICATE),
	[M_W2] = ROW("time_mix_w2", D_RANK(RANK_DECAY), D_EMBD, R | KEEP, HEADS),
	[M_A0] = ROW("time_mix_a0", D_EMBD, 0, R | KEEP, REPLICATE),
	[M_A1] = ROW("time_mix_a1", D_EMBD, D_RANK(RANK_ICLR), R | KEEP, REPLICATE),
	[M_A2] = ROW("time_mix_a2", D_RANK(RANK_ICLR), D_EMBD, R | KEEP, HEADS),
	[M_V0] = ROW("time_mix_v0", D_EMBD, 0, KEEP, REPLICATE),
	[M_V1] = ROW("time_mix_v1", D_EMBD, D_RANK(RANK_V), KEEP, REPLICATE),
	[M_V2] = ROW("time_mix_v2", D_RANK(RANK_V), D_EMBD, KEEP, HEADS),
	[M_G1] = ROW("time_mix_g1", D_EMBD, D_RANK(RANK_GATE), KEEP, REPLICATE),
	[M_G2] = ROW("time_mix_g2", D_RANK(RANK_GATE), D_EMBD, KEEP, HEADS),
	[M_KK] = ROW("time_mix_k_k", D_EMBD, 0, R, REPLICATE),
	[M_KA] = ROW("time_mix_k_a", D_EMBD, 0, R, REPLICATE),
	[M_RK] = ROW("time_mix_r_k", D_EMBD, 0, R, REPLICATE),
	[M_KEY] = ROW("time_mix_key", D_EMBD, D_EMBD, R, HEADS),
	[M_VALUE] = ROW("time_mix_value", D_EMBD, D_EMBD, R, HEADS),
	[M_RECEPTANCE] = ROW("time_mix_receptance", D_EMBD, D_EMBD, R, HEADS),
	[M_LN] = ROW("time_mix_ln", D_EMBD, 0, B, REPLICATE),
	[M_OUT] = ROW("time_mix_output", D_EMBD, D_EMBD, R, COLS),
};

static const struct lmd_tensor_set sets_rwkv[] = {
	ARCH_SET_GLOBAL, ARCH_ROWS_REQ(T_TOKEN_EMBD_NORM, T_TOKEN_EMBD_NORM),
	ARCH_ROWS_OWN(mix_rows), ARCH_ROWS_OWN(rwkv_channel_rows)};
static const struct lmd_tensor_set sets_arwkv[] = {ARCH_SET_GLOBAL, ARCH_ROWS_OWN(mix_rows),
						   ARCH_SET_FFN_NORM, ARCH_SET_FFN};

/* The blends, in the order of the fused factors. */
enum { X_R, X_W, X_K, X_V, X_A, X_G };

struct mix {
	struct arch_emit *e;
	const struct rwkv *m;
	uint32_t w;           /* width */
	uint32_t x;           /* the blends side by side */
	uint32_t n_blend;
};

static struct lmd_operand blend(const struct mix *c, uint32_t i)
{
	return arch_operand_cols(c->x, i * c->w, c->w);
}

static struct lmd_operand vec(const struct mix *c, uint32_t row)
{
	return arch_operand_weight_cols(arch_weight_req(c->e, &mix_rows[row]).id, c->w);
}

static uint32_t decay(const struct mix *c)
{
	uint32_t f = rwkv_low_rank(c->e, blend(c, X_W), &mix_rows[M_W1], LMD_ACT_FN_TANH,
				   &mix_rows[M_W2], "decay_f");
	uint32_t y = arch_value_f32(c->e, c->w, "decay");
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, arch_operand_all(c->e, f)), b = arch_ew_in(&p, vec(c, M_W0));

	a = arch_ew1(&p, LMD_EW_SIGMOID, arch_ew2(&p, LMD_EW_ADD, a, b));
	a = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_const(&p, -0.606531f));
	arch_ew_out(c->e, &p, arch_ew1(&p, LMD_EW_EXP, a), arch_operand_all(c->e, y));
	return y;
}

/* sigmoid(bias + f(x)) */
static uint32_t rate(const struct mix *c, uint32_t x, uint32_t b0, uint32_t w1, uint32_t w2,
		     const char *name)
{
	uint32_t f = rwkv_low_rank(c->e, blend(c, x), &mix_rows[w1], LMD_ACT_FN_NONE, &mix_rows[w2],
				   "rate_f");
	uint32_t y = arch_value_f32(c->e, c->w, name);
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, arch_operand_all(c->e, f)), b = arch_ew_in(&p, vec(c, b0));

	a = arch_ew1(&p, LMD_EW_SIGMOID, arch_ew2(&p, LMD_EW_ADD, a, b));
	arch_ew_out(c->e, &p, a, arch_operand_all(c->e, y));
	return y;
}

/* v + (v_first - v) * rate */
static uint32_t value(const struct mix *c, uint32_t *v_first)
{
	uint32_t v = rwkv_linear(c->e, blend(c, X_V), &mix_rows[M_VALUE], LMD_ACT_FN_NONE, "v");
	uint32_t r, y;
	struct arch_ew p = arch_ew();
	uint8_t a, b, f;

	if (*v_first == LMD_NONE) {
		*v_first = v;
		return v;
	}
	r = rate(c, X_V, M_V0, M_V1, M_V2, "v_rate");
	y = arch_value_f32(c->e, c->w, "v_mixed");
	a = arch_ew_in(&p, arch_operand_all(c->e, v));
	b = arch_ew_in(&p, arch_operand_all(c->e, *v_first));
	f = arch_ew_in(&p, arch_operand_all(c->e, r));
	b = arch_ew2(&p, LMD_EW_SUB, b, a);
	arch_ew_out(c->e, &p, arch_ew3(&p, LMD_EW_FMA, b, f, a), arch_operand_all(c->e, y));
	return y;
}

struct keys {
	uint32_t k;           /* k' */
	uint32_t neg, pos;    /* -kk, kk * a */
};

static struct keys keys(const struct mix *c, uint32_t a)
{
	struct arch_emit *e = c->e;
	const uint32_t d = c->m->d, h = c->m->n_head;
	uint32_t k = rwkv_linear(e, blend(c, X_K), &mix_rows[M_KEY], LMD_ACT_FN_NONE, "k");
	uint32_t kk = arch_value_f32(e, c->w, "kk"), unit = arch_value_f32(e, c->w, "kk_unit");
	struct keys out = {arch_value_f32(e, c->w, "k_mixed"), arch_value_f32(e, c->w, "kk_neg"),
			   arch_value_f32(e, c->w, "kk_a")};
	struct lmd_norm l2 = arch_no_norm();
	struct arch_ew p = arch_ew();
	uint8_t x, y, z;

	arch_put_mul(e, arch_operand_all(e, k), vec(c, M_KK), arch_operand_all(e, kk));
	l2.kind = LMD_NORM_L2;
	l2.eps = 1e-12f;
	arch_put_norm(e, arch_operand_heads(kk, 0, h, d), &l2, arch_operand_heads(unit, 0, h, d));

	x = arch_ew_in(&p, arch_operand_all(e, unit));
	y = arch_ew_in(&p, arch_operand_all(e, a));
	y = arch_ew2(&p, LMD_EW_MUL, x, y);
	x = arch_ew2(&p, LMD_EW_MUL, x, arch_ew_const(&p, -1.0f));
	arch_ew_out2(&p, y, arch_operand_all(e, out.pos));
	arch_ew_out(e, &p, x, arch_operand_all(e, out.neg));

	p = arch_ew();
	x = arch_ew_in(&p, arch_operand_all(e, k));
	y = arch_ew_in(&p, arch_operand_all(e, a));
	z = arch_ew2(&p, LMD_EW_MUL, x, arch_ew_in(&p, vec(c, M_KA)));
	y = arch_ew2(&p, LMD_EW_SUB, arch_ew2(&p, LMD_EW_MUL, y, z), z);
	arch_ew_out(e, &p, arch_ew2(&p, LMD_EW_ADD, x, y), arch_operand_all(e, out.k));
	return out;
}

/* (y + v * sum over the head of r k' r_k) * gate */
static uint32_t bonus(const struct mix *c, uint32_t y, uint32_t r, uint32_t k, uint32_t v)
{
	struct arch_emit *e = c->e;
	const uint32_t d = c->m->d, h = c->m->n_head;
	uint32_t prod = arch_value_f32(e, c->w, "rk"), sum = arch_value_f32(e, h, "rk_sum");
	uint32_t out = arch_value_act(e, c->w, "mixed");
	struct arch_ew p = arch_ew();
	uint8_t a = arch_ew_in(&p, arch_operand_all(e, r)), plus;
	struct lmd_op op = arch_op_empty(LMD_OP_REDUCE);

	a = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_in(&p, arch_operand_all(e, k)));
	a = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_in(&p, vec(c, M_RK)));
	arch_ew_out(e, &p, a, arch_operand_all(e, prod));

	op.u.reduce.x = arch_operand_heads(prod, 0, h, d);
	op.u.reduce.y = arch_operand_heads(sum, 0, h, 1);
	op.u.reduce.kind = LMD_REDUCE_SUM;
	op.u.reduce.axis = LMD_AXIS_ROW;
	arch_emit_op(e, &op);

	p = arch_ew();
	a = arch_ew_in(&p, arch_operand_heads(v, 0, h, d));
	plus = arch_ew_in(&p, arch_operand_heads(y, 0, h, d));
	a = arch_ew3(&p, LMD_EW_FMA, a, arch_ew_in(&p, arch_operand_heads(sum, 0, h, 1)), plus);
	if (c->n_blend > X_G && arch_weight_exists(e, &mix_rows[M_G1])) {
		uint32_t g = rwkv_low_rank(e, blend(c, X_G), &mix_rows[M_G1], LMD_ACT_FN_SIGMOID,
					   &mix_rows[M_G2], "gate");

		a = arch_ew2(&p, LMD_EW_MUL, a, arch_ew_in(&p, arch_operand_heads(g, 0, h, d)));
	}
	arch_ew_out(e, &p, a, arch_operand_heads(out, 0, h, d));
	return out;
}

static uint32_t scan(const struct mix *c, uint32_t r, uint32_t w, const struct keys *k, uint32_t v)
{
	const uint32_t in[6] = {r, w, k->k, v, k->neg, k->pos};
	const uint32_t d = c->m->d, h = c->m->n_head;
	uint32_t y = arch_value_f32(c->e, c->w, "scan");
	struct lmd_op op = arch_op_empty(LMD_OP_SCAN);

	for (uint32_t i = 0; i < LMD_LEN(in); i++)
		op.u.scan.in[i] = arch_operand_heads(in[i], 0, h, d);
	op.u.scan.y = arch_operand_heads(y, 0, h, d);
	op.u.scan.kind = LMD_SCAN_RWKV7;
	op.u.scan.n_head = op.u.scan.n_key_head = h;
	op.u.scan.dk = op.u.scan.dv = d;
	op.u.scan.cache = c->m->scan[c->e->il];
	arch_emit_op(c->e, &op);
	return y;
}

static uint32_t time_mix(struct arch_emit *e, const struct rwkv *m, uint32_t x, uint32_t *v_first)
{
	struct mix c = {.e = e, .m = m, .w = m->hp.n_embd};
	struct lmd_norm norm = arch_norm_req(e, m->hp.norm_kind, &mix_rows[M_NORM]);
	struct arch_weight mu = arch_weight_req(e, &mix_rows[M_LERP]),
			   wo = arch_weight_req(e, &mix_rows[M_OUT]);
	uint32_t cur = arch_value_f32(e, c.w, "attn_norm");
	uint32_t prev, r, w, v, a, y;
	struct keys k;

	c.n_blend = mu.n;
	if (mu.id != LMD_NONE && mu.n != X_G && mu.n != X_G + 1)
		e->b->fail(e->b->ctx, LMD_INVALID,
			   "blk.%d.time_mix_lerp_fused.weight: %u rows, expected 5 or 6",
			   (int)e->il, mu.n);
	arch_put_norm(e, arch_operand_all(e, x), &norm, arch_operand_all(e, cur));
	prev = rwkv_shift(e, cur, m->shift_att[e->il]);
	c.x = rwkv_blend(e, cur, prev, c.n_blend, arch_operand_weight_heads(mu.id, c.n_blend, c.w),
			 arch_operand_none());
	r = rwkv_linear(e, blend(&c, X_R), &mix_rows[M_RECEPTANCE], LMD_ACT_FN_NONE, "r");
	w = decay(&c);
	v = value(&c, v_first);
	a = rate(&c, X_A, M_A0, M_A1, M_A2, "a");
	k = keys(&c, a);
	y = scan(&c, r, w, &k, v);
	y = rwkv_head_norm(e, m, y, &mix_rows[M_LN]);
	y = bonus(&c, y, r, k.k, v);
	return arch_block_out(e, arch_operand_all(e, y), NULL, &wo,
			      &(struct arch_block_io){.res = x, .a = 1.0f});
}

static void ranks(struct rwkv *m, struct arch_keys *k)
{
	static const char *const key[] = {[RANK_DECAY] = "attention.decay_lora_rank",
					  [RANK_ICLR] = "attention.iclr_lora_rank",
					  [RANK_V] = "attention.value_residual_mix_lora_rank",
					  [RANK_GATE] = "attention.gate_lora_rank"};

	for (uint32_t i = 0; i < LMD_LEN(key); i++)
		m->rank[i] = arch_key_u32(k, key[i], i == RANK_GATE ? ARCH_OPTIONAL : ARCH_REQUIRED,
					  0, 0, ARCH_KEY_MAX_WIDTH);
}

static const struct rwkv_kind kind = {ranks, time_mix};

RWKV_ARCH(rwkv7, kind, false, sets_rwkv)
RWKV_ARCH(arwkv7, kind, true, sets_arwkv)
