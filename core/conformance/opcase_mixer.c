/* SPDX-License-Identifier: MIT
 *
 * Cases of experts, recurrent mixers, the indexer and sampling. */
#include <math.h>

#include "core/conformance/opcase_priv.h"

#define T  LMD_SPACE_TOKENS
#define X0 LMD_SPACE_X0
#define SET(op_, code)                                                                             \
	const struct opcase_set opcase_##op_ = {code, op_##_cases, LMD_LEN(op_##_cases)}

/* ---- ROUTE: fn, experts, k, bias, groups, groups used, renorm, flags (1 given, 2 id_div) ---- */

static void route(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_ROUTE);
	struct lmd_op_route *r = &op.u.route;
	uint32_t k = (uint32_t)v[2];

	r->logits = oc_x(c, T, 1, (uint32_t)v[1]);
	r->fn = (uint32_t)v[0];
	r->k = k;
	r->bias = v[3] ? oc_vector(c, (uint32_t)v[1], 0, 0.5).id : LMD_NONE;
	r->n_group = (uint32_t)v[4];
	r->n_group_used = (uint32_t)v[5];
	r->renorm = (uint32_t)v[6];
	r->id_div = v[7] & 2 ? 3 : 1;
	r->scale = 2.5f;
	if (v[7] & 1)
		r->given = oc_in_ids(c, T, k, 0, v[1] - 1);
	r->ids = oc_y_ids(c, T, 1, k);
	r->weights = oc_y(c, T, 1, k);
	oc_emit(c, &op);
}

static const struct opcase route_cases[] = {
	{"softmax", route, {LMD_ROUTE_SOFTMAX, 16, 4}, .nmse = OC_SUM},
	{"softmax, renormalised", route, {LMD_ROUTE_SOFTMAX, 60, 6, 0, 0, 0, 1}, .nmse = OC_SUM},
	{"softmax of the chosen experts", route, {LMD_ROUTE_SOFTMAX_CHOSEN, 32, 4}, .nmse = OC_SUM},
	{"sigmoid, bias, groups", route, {LMD_ROUTE_SIGMOID, 32, 6, 1, 8, 3, 1}, .nmse = OC_SUM},
	{"root of softplus, bias", route, {LMD_ROUTE_SQRT_SOFTPLUS, 24, 5, 1, 0, 0, 1},
	 .nmse = OC_SUM},
	{"given", route, {LMD_ROUTE_SIGMOID, 12, 3, 0, 0, 0, 1, 1}, .nmse = OC_SUM},
	{"raw, ids divided", route, {LMD_ROUTE_RAW, 12, 12, 0, 0, 0, 0, 2}, .nmse = OC_SUM},
};
SET(route, LMD_OP_ROUTE);

/* ---- MOE_FFN: dtype, act, form (0 up only, 1 gate and up, 2 gate_up), weight before, extras,
 * residual, one tensor per expert ---- */

static void moe_ffn(struct oc *c, const int *v)
{
	enum { E = 5, F = 32, D = 64, K = 3 };
	struct oc_w w = {
		.dtype = (uint32_t)v[0],
		.n_stack = E,
		.n = F,
		.k = D,
		.bias = v[4],
		.n_scale = v[4] ? E : 0,
		.transform = v[6] ? LMD_TRANSFORM_STACK_EXPERTS : 0,
	};
	struct lmd_op op = oc_op(LMD_OP_MOE_FFN);
	struct lmd_op_moe_ffn *m = &op.u.moe_ffn;

	m->x = oc_x(c, T, 1, D);
	m->ids = oc_ids(c, T, K, -1, E - 1);
	m->weights = oc_x(c, T, 1, K);
	if (v[2] == 1)
		m->gate = oc_weight(c, &w);
	if (v[2] < 2)
		m->up = oc_weight(c, &w);
	w.n = 2 * F;
	if (v[2] == 2)
		m->gate_up = oc_weight(c, &w);
	w.n = D;
	w.k = F;
	m->down = oc_weight(c, &w);
	m->lora_site[0] = v[2] ? oc_site(c, v[2] == 2 ? 2 * F : F, D, E) : LMD_NONE;
	m->lora_site[1] = v[2] < 2 ? oc_site(c, F, D, E) : LMD_NONE;
	m->lora_site[2] = oc_site(c, D, F, E);
	m->act = (uint32_t)v[1];
	m->p[0] = 1.702f;
	m->p[1] = 1;
	m->weight_before = (uint32_t)v[3];
	if (v[5] != 2)
		m->y = oc_y(c, T, 1, D);
	if (v[5]) {
		m->a = 0.5f;
		m->r_in = oc_x(c, T, 1, D);
		m->r_out = oc_y(c, T, 1, D);
	}
	oc_emit(c, &op);
}

static const struct opcase moe_ffn_cases[] = {
	{"f32, gate and up", moe_ffn, {LMD_DTYPE_F32, LMD_ACT_FN_SILU, 1}, .nmse = OC_CHAIN},
	{"f32, up only, weight before, residual",
	 moe_ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_RELU2, 0, 1, 0, 1},
	 .nmse = OC_CHAIN},
	{"q4_0, gate_up, biases and scales",
	 moe_ffn,
	 {LMD_DTYPE_Q4_0, LMD_ACT_FN_OAI, 2, 0, 1, 2},
	 OC_INT8,
	 .nmse = OC_CHAIN},
	{"q8_0, one tensor per expert, weight before",
	 moe_ffn,
	 {LMD_DTYPE_Q8_0, LMD_ACT_FN_GELU, 1, 1, 1, 0, 1},
	 OC_INT8,
	 .nmse = OC_CHAIN},
	{"bf16, gate_up",
	 moe_ffn,
	 {LMD_DTYPE_BF16, LMD_ACT_FN_SILU, 2, 0, 1},
	 .nmse = OC_CHAIN},
	{"f32 with adapters",
	 moe_ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_SILU, 1},
	 OC_LORA,
	 .nmse = OC_CHAIN},
	{"f32, gate_up with adapters",
	 moe_ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_SILU, 2},
	 OC_LORA,
	 .nmse = OC_CHAIN},
	{"f32, gate_up with adapters with a gain",
	 moe_ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_SILU, 2},
	 OC_LORA | OC_GAIN,
	 .nmse = OC_CHAIN},
};
SET(moe_ffn, LMD_OP_MOE_FFN);

/* ---- CONV ---- */

enum { C = 12 };

/* kernel, dilation, left, cache, act, bias */
static void conv(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_CONV);
	struct lmd_op_conv *o = &op.u.conv;
	const struct oc_w w = {.n = C, .k = (uint32_t)v[0], .bias = v[5], .std = 0.5};

	o->kind = LMD_CONV_DEPTHWISE;
	o->x = oc_x(c, T, 1, C);
	o->w = oc_weight(c, &w);
	o->kernel = (uint32_t)v[0];
	o->dilation = (uint32_t)v[1];
	o->left = (uint32_t)v[2];
	o->act = (uint32_t)v[4];
	if (v[3])
		o->cache = 0;
	o->y = oc_y(c, T, 1, C);
	oc_emit(c, &op);
}

static void conv_map(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_CONV);
	struct lmd_op_conv *o = &op.u.conv;
	const struct oc_w w = {
		.n = C,
		.k = (uint32_t)(v[0] * (v[2] ? v[0] : 1)),
		.bias = true,
		.std = 0.5,
	};

	oc_map(c, 0, 4, 6, 1);
	o->kind = LMD_CONV_DEPTHWISE;
	o->x = oc_x(c, X0, 1, C);
	o->w = oc_weight(c, &w);
	o->kernel = (uint32_t)v[0];
	o->dilation = 1;
	o->left = (uint32_t)v[1];
	o->map = (uint32_t)v[2];
	o->act = LMD_ACT_FN_SILU;
	o->y = oc_y(c, X0, 1, C);
	oc_emit(c, &op);
}

/* rows, cache */
static void shift(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_CONV);
	struct lmd_op_conv *o = &op.u.conv;

	o->kind = LMD_CONV_SHIFT;
	o->x = oc_x(c, T, 1, C);
	o->n = (uint32_t)v[0];
	if (v[1])
		o->cache = 0;
	o->y = oc_y(c, T, 1, C);
	oc_emit(c, &op);
}

/* score, overlap, cache */
static void pool(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_CONV);
	struct lmd_op_conv *o = &op.u.conv;
	uint32_t cols = v[1] ? 2 * C : C;

	o->kind = LMD_CONV_POOL;
	o->x = oc_x(c, T, 1, cols);
	if (v[0])
		o->score = oc_x(c, T, 1, cols);
	o->n = 4;
	o->overlap = (uint32_t)v[1];
	o->group = OC_G_COMP;
	if (v[2])
		o->cache = 0;
	o->y = oc_y(c, T, 1, C);
	oc_emit(c, &op);
}

#define CONV(name, rows, cols)                                                                     \
	static const struct lmd_cache name[] = {                                                   \
		{OC_G_STATE, LMD_CACHE_CONV, 1, rows, cols, LMD_KV_DTYPE_F32, 0, 0}}
CONV(rows3, 3, C);
CONV(rows4, 4, C);
CONV(rows1, 1, C);
CONV(rows5, 5, C);
CONV(pool3, 3, C);
CONV(pool9, 9, 4 * C);
/* with the layout of STATE caches: heads of columns */
static const struct lmd_cache heads3[] = {
	{OC_G_STATE, LMD_CACHE_CONV, 3, 3, C / 3, LMD_KV_DTYPE_F32, 0, 0},
};

static const struct opcase conv_cases[] = {
	{"causal, kernel 4", conv, {4, 1, 3, 1, LMD_ACT_FN_SILU, 1}, 0, rows3, 1, .nmse = OC_SUM},
	{"causal, dilation 2, no bias",
	 conv,
	 {3, 2, 4, 1, LMD_ACT_FN_NONE},
	 0,
	 rows4,
	 1,
	 .nmse = OC_SUM},
	{"causal, cache of heads",
	 conv,
	 {4, 1, 3, 1, LMD_ACT_FN_NONE, 1},
	 0,
	 heads3,
	 1,
	 .nmse = OC_SUM},
	{"centred, within the step", conv, {5, 1, 2, 0, LMD_ACT_FN_GELU, 1}, .nmse = OC_SUM},
	{"along rows of an X space", conv_map, {7, 3, 0}, OC_ENCODE, .nmse = OC_SUM},
	{"over a map", conv_map, {3, 1, 1}, OC_ENCODE, .nmse = OC_SUM},
	{"shift by one", shift, {1, 1}, 0, rows1, 1, .nmse = OC_EXACT},
	{"shift by five", shift, {5, 1}, 0, rows5, 1, .nmse = OC_EXACT},
	{"shift within the step", shift, {2, 0}, .nmse = OC_EXACT},
	{"mean of blocks", pool, {0, 0, 1}, 0, pool3, 1, .nmse = OC_SUM},
	{"overlapping blocks by score", pool, {1, 1, 1}, 0, pool9, 1, .nmse = OC_SUM},
	{"blocks by score within the step", pool, {1, 0, 0}, .nmse = OC_SUM},
};
SET(conv, LMD_OP_CONV);

/* ---- SCAN: kind, heads, key heads, dk, dv, key map, gate (heads of 1 or dk; 2: a weight) ---- */

static void scan(struct oc *c, const int *v)
{
	uint32_t h = (uint32_t)v[1], hk = (uint32_t)v[2], dk = (uint32_t)v[3], dv = (uint32_t)v[4];
	struct lmd_op op = oc_op(LMD_OP_SCAN);
	struct lmd_op_scan *s = &op.u.scan;
	const struct oc_w a1 = {.n = h, .k = dk, .mean = -1, .std = 0.3};

	s->kind = (uint32_t)v[0];
	s->n_head = h;
	s->n_key_head = hk;
	s->dk = dk;
	s->dv = dv;
	s->key_map = (uint32_t)v[5];
	s->scale = 0.3f;
	s->cache = 0;
	switch ((enum lmd_scan)v[0]) {
	case LMD_SCAN_MAMBA1:
		s->in[0] = oc_x(c, T, 1, h);
		s->in[1] = oc_x_like(c, T, 1, h, 0.5, 0.1);
		s->in[2] = oc_x(c, T, 1, dk);
		s->in[3] = oc_x(c, T, 1, dk);
		s->w[0] = oc_weight(c, &a1);
		s->w[1] = v[6] ? oc_vector(c, h, 0, 1).id : LMD_NONE;
		break;
	case LMD_SCAN_MAMBA2:
		s->in[0] = oc_x(c, T, h, dv);
		s->in[1] = oc_x_like(c, T, 1, h, 0.5, 0.1);
		s->in[2] = oc_x(c, T, hk, dk);
		s->in[3] = oc_x(c, T, hk, dk);
		s->w[0] = oc_vector(c, h, -1, 0.3).id;
		s->w[1] = v[6] ? oc_vector(c, h, 0, 1).id : LMD_NONE;
		break;
	case LMD_SCAN_RWKV6:
		for (int i = 0; i < 3; i++)
			s->in[i] = oc_x(c, T, h, dk);
		s->in[3] = oc_x_like(c, T, h, dk, 0.7, 0.05);
		s->w[0] = oc_vector(c, h * dk, 0, 0.5).id;
		break;
	case LMD_SCAN_RWKV7:
		for (int i = 0; i < 6; i++)
			s->in[i] = oc_x_like(c, T, h, dk, i == 1 ? 0.7 : 0, i == 1 ? 0.05 : 0.3);
		break;
	case LMD_SCAN_GLA:
	case LMD_SCAN_DELTA:
		s->in[0] = oc_x(c, T, hk, dk);
		s->in[1] = oc_x_like(c, T, hk, dk, 0, 0.3);
		s->in[2] = oc_x(c, T, h, dv);
		if (v[6] == 2)
			s->in[3] = oc_vector(c, h, 0.8, 0.05);
		else if (v[0] == LMD_SCAN_GLA)
			s->in[3] = oc_x_like(c, T, v[6] ? h : 1, v[6] ? dk : h, 0.8, 0.05);
		else
			s->in[3] = oc_x_like(c, T, v[6] ? h : 1, v[6] ? dk : h, -0.3, 0.1);
		if (v[0] == LMD_SCAN_DELTA)
			s->in[4] = oc_x_like(c, T, 1, h, 0.5, 0.1);
		break;
	}
	s->y = oc_y(c, T, h, dv);
	oc_emit(c, &op);
}

#define STATE(name, h, dk, dv)                                                                     \
	static const struct lmd_cache name[] = {                                                   \
		{OC_G_STATE, LMD_CACHE_STATE, h, dk, dv, LMD_KV_DTYPE_F32, 0, 0}}
STATE(s10_5_1, 10, 5, 1);
STATE(s6_8_4, 6, 8, 4);
STATE(s3_8_8, 3, 8, 8);
STATE(s4_6_10, 4, 6, 10);

static const struct opcase scan_cases[] = {
	{"mamba1", scan, {LMD_SCAN_MAMBA1, 10, 10, 5, 1, 0, 1}, 0, s10_5_1, 1, .nmse = OC_CHAIN},
	{"mamba2, key heads in blocks", scan, {LMD_SCAN_MAMBA2, 6, 2, 8, 4, LMD_MAP_BLOCK, 1}, 0,
	 s6_8_4, 1, .nmse = OC_CHAIN},
	{"mamba2, cyclic key heads, no D", scan, {LMD_SCAN_MAMBA2, 6, 3, 8, 4, LMD_MAP_CYCLE}, 0,
	 s6_8_4, 1, .nmse = OC_CHAIN},
	{"rwkv6", scan, {LMD_SCAN_RWKV6, 3, 3, 8, 8}, 0, s3_8_8, 1, .nmse = OC_CHAIN},
	{"rwkv7", scan, {LMD_SCAN_RWKV7, 3, 3, 8, 8}, 0, s3_8_8, 1, .nmse = OC_CHAIN},
	{"gla, gate per head", scan, {LMD_SCAN_GLA, 4, 2, 6, 10, LMD_MAP_BLOCK, 0}, 0, s4_6_10, 1,
	 .nmse = OC_CHAIN},
	{"gla, gate per channel", scan, {LMD_SCAN_GLA, 4, 4, 6, 10, 0, 1}, 0, s4_6_10, 1,
	 .nmse = OC_CHAIN},
	{"gla, gate is a weight", scan, {LMD_SCAN_GLA, 4, 4, 6, 10, 0, 2}, 0, s4_6_10, 1,
	 .nmse = OC_CHAIN},
	{"delta, gate per head, cyclic key heads", scan,
	 {LMD_SCAN_DELTA, 4, 2, 6, 10, LMD_MAP_CYCLE, 0}, 0, s4_6_10, 1, .nmse = OC_CHAIN},
	{"delta, gate per channel", scan, {LMD_SCAN_DELTA, 4, 2, 6, 10, LMD_MAP_BLOCK, 1}, 0,
	 s4_6_10, 1, .nmse = OC_CHAIN},
};
SET(scan, LMD_OP_SCAN);

/* ---- INDEX: kind, n, unit, local, coarse (integer scores, so that many are equal), each,
 * width (0: 8) ---- */

static void index_op(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_INDEX);
	struct lmd_op_index *x = &op.u.index;
	uint32_t lists = v[0] == LMD_INDEX_PER_HEAD ? 3 : 1;

	x->kind = (uint32_t)v[0];
	x->q = oc_x(c, T, 3, v[6] ? (uint32_t)v[6] : 8);
	if (v[4]) { /* most scores are exactly 0 */
		struct lmd_op ew = oc_op(LMD_OP_EW);

		ew.u.ew.n_in = 1;
		ew.u.ew.in[0] = x->q;
		ew.u.ew.n_ins = 3;
		ew.u.ew.ins[0] = (struct lmd_ew_ins){.op = LMD_EW_CONST, .dst = 8, .imm = 0};
		ew.u.ew.ins[1] = (struct lmd_ew_ins){.op = LMD_EW_LT, .dst = 9, .a = 8, .b = 0};
		ew.u.ew.ins[2] = (struct lmd_ew_ins){.op = LMD_EW_MUL, .dst = 10, .a = 9, .b = 8};
		ew.u.ew.n_out = 1;
		ew.u.ew.out_reg[0] = 10;
		ew.u.ew.out[0] = oc_y(c, T, 3, 8);
		oc_emit(c, &ew);
		x->q = ew.u.ew.out[0];
	}
	if (v[0] == LMD_INDEX_WEIGHTED)
		x->w = oc_x(c, T, 1, 3);
	x->cache = 0;
	x->n = (uint32_t)v[1];
	x->unit = (uint32_t)v[2];
	x->local = (uint32_t)v[3];
	x->each = (uint32_t)v[5];
	x->of = v[5] ? OC_G_FULL : LMD_NONE;
	x->scale = 0.35f;
	x->y = oc_y_ids(c, T, lists, x->n);
	oc_emit(c, &op);
}

static const struct lmd_cache keys[] = {
	{OC_G_FULL, LMD_CACHE_INDEX, 1, 8, 0, LMD_KV_DTYPE_F32, 0, 0},
};
static const struct lmd_cache head_keys[] = {
	{OC_G_FULL, LMD_CACHE_INDEX, 3, 8, 0, LMD_KV_DTYPE_F32, 0, 0},
};

static const struct lmd_cache user_keys[] = {
	{OC_G_FULL, LMD_CACHE_INDEX, 1, 64, 0, LMD_KV_DTYPE_USER, 0, 0},
};
static const struct lmd_cache block_keys[] = {
	{OC_G_COMP, LMD_CACHE_INDEX, 1, 8, 0, LMD_KV_DTYPE_F32, 0, 0},
	{OC_G_FULL, LMD_CACHE_KV, 1, 8, 8, LMD_KV_DTYPE_F32, 0, 0},
};

static const struct opcase index_cases[] = {
	{"weighted", index_op, {LMD_INDEX_WEIGHTED, 6, 1, 0}, OC_SETS, keys, 1, .nmse = OC_SUM},
	{"sum, n above the number of keys", index_op, {LMD_INDEX_SUM, 50, 1, 0}, OC_SETS, keys, 1,
	 .nmse = OC_SUM},
	{"one list per head", index_op, {LMD_INDEX_PER_HEAD, 5, 1, 0}, OC_SETS, head_keys, 1,
	 .nmse = OC_SUM},
	{"units of 4, the last 2 always", index_op, {LMD_INDEX_SUM, 5, 4, 2}, OC_SETS, keys, 1,
	 .nmse = OC_SUM},
	{"all scores equal", index_op, {LMD_INDEX_SUM, 7, 1, 1, 1}, OC_SETS, keys, 1,
	 .nmse = OC_SUM},
	{"keys of q4_0_rot", index_op, {LMD_INDEX_SUM, 5, 1, 0, 0, 0, 64}, OC_SETS, user_keys, 1,
	 .nmse = OC_SUM, .kv_dtype = LMD_DTYPE_Q4_0_ROT},
	{"one row per four keys", index_op, {LMD_INDEX_SUM, 7, 1, 0, 0, 4}, OC_SETS, block_keys, 2,
	 .nmse = OC_SUM},
};
SET(index, LMD_OP_INDEX);

/* ---- SAMPLE: stages of the chain, 0 ends it; last 1 masked, 2 many candidates, 4 flat ---- */

static void sample(struct oc *c, const int *v)
{
	uint32_t flags = (uint32_t)v[OC_N_V - 1], vocab = flags & 2 ? 4000 : 70;
	struct lmd_op op = oc_op(LMD_OP_SAMPLE);
	struct lmd_op_sample *s = &op.u.sample;
	static const double mean[] = {0, 1.2, 0.8, 12, 0.7, 0.05};
	const uint32_t out = LMD_SPACE_OUTPUTS;
	uint32_t col = 0;

	s->logits = oc_in(c, out, vocab, 0, flags & 4 ? 0.1 : 3);
	s->params = oc_in(c, out, OC_PARAMS, 0, 0);
	s->rng = oc_in_ids(c, out, 4, 0, 1000000);
	if (flags & 1)
		s->mask = oc_in_ids(c, out, (vocab + 31) / 32, 0x12345678, 0x7fffffff);
	s->history = oc_in_ids(c, out, 9, -1, (int32_t)vocab - 1);
	for (; s->n_stage < OC_N_V - 1 && v[s->n_stage]; s->n_stage++) {
		uint32_t stage = (uint32_t)v[s->n_stage];

		s->stage[s->n_stage] = stage;
		s->param_col[s->n_stage] = col;
		if (stage >= LMD_STAGE_GREEDY)
			continue;
		c->inputs[s->params.id].column[col] = mean[stage];
		if (stage == LMD_STAGE_PENALTIES) {
			c->inputs[s->params.id].column[col + 1] = 0.1;
			c->inputs[s->params.id].column[col + 2] = 0.3;
		}
		col += stage == LMD_STAGE_PENALTIES ? 3 : 1;
	}
	s->token = oc_y_ids(c, out, 1, 1);
	s->top_id = oc_y_ids(c, out, 1, 5);
	s->top_lp = oc_y(c, out, 1, 5);
	oc_emit(c, &op);
}

static const struct opcase sample_cases[] = {
	{"greedy", sample, {LMD_STAGE_GREEDY}, OC_TAIL, .nmse = OC_SUM},
	{"greedy, masked, penalties", sample,
	 {LMD_STAGE_PENALTIES, LMD_STAGE_GREEDY, 0, 0, 0, 0, 0, 1}, OC_TAIL, .nmse = OC_SUM},
	{"draw from all", sample, {LMD_STAGE_DIST}, OC_TAIL, .nmse = OC_SUM},
	{"temperature, top-k, draw", sample,
	 {LMD_STAGE_TEMPERATURE, LMD_STAGE_TOP_K, LMD_STAGE_DIST}, OC_TAIL, .nmse = OC_SUM},
	{"top-p, min-p, temperature, draw", sample,
	 {LMD_STAGE_TOP_P, LMD_STAGE_MIN_P, LMD_STAGE_TEMPERATURE, LMD_STAGE_DIST}, OC_TAIL,
	 .nmse = OC_SUM},
	{"the whole chain, masked", sample,
	 {LMD_STAGE_PENALTIES, LMD_STAGE_TOP_K, LMD_STAGE_TOP_P, LMD_STAGE_MIN_P,
	  LMD_STAGE_TEMPERATURE, LMD_STAGE_DIST, 0, 1}, OC_TAIL, .nmse = OC_SUM},
	{"the whole chain, many candidates", sample,
	 {LMD_STAGE_PENALTIES, LMD_STAGE_TOP_K, LMD_STAGE_TOP_P, LMD_STAGE_MIN_P,
	  LMD_STAGE_TEMPERATURE, LMD_STAGE_DIST, 0, 3}, OC_TAIL, .nmse = OC_SUM},
	{"top-p of many candidates", sample,
	 {LMD_STAGE_TOP_P, LMD_STAGE_DIST, 0, 0, 0, 0, 0, 2}, OC_TAIL, .nmse = OC_SUM},
	{"top-p of a flat distribution", sample,
	 {LMD_STAGE_TOP_P, LMD_STAGE_DIST, 0, 0, 0, 0, 0, 6}, OC_TAIL, .nmse = OC_SUM},
};
SET(sample, LMD_OP_SAMPLE);
