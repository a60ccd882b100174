/* SPDX-License-Identifier: MIT
 *
 * Cases of ROPE_KV and ATTN. */
#include <math.h>

#include "core/conformance/opcase_priv.h"

#define T LMD_SPACE_TOKENS
#define SET(op_, code)                                                                             \
	const struct opcase_set opcase_##op_ = {code, op_##_cases, LMD_LEN(op_##_cases)}

/* ---- ROPE_KV: norm_when, pairing, sections, rot0, append (0 none, 1 K, 3 both), sign, pos ---- */

enum { H = 4, HK = 2, DK = 32 };

static void rope_kv(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_ROPE_KV);
	struct lmd_op_rope_kv *r = &op.u.rope_kv;
	uint32_t kind = v[0] ? (v[0] == 1 ? LMD_NORM_RMS : LMD_NORM_L2) : LMD_NORM_NONE;

	r->q = oc_x(c, T, H, DK);
	r->k = oc_x(c, T, HK, DK);
	r->qn = oc_norm(c, kind, v[0] == 2 ? H : 1, DK, 0, false);
	r->kn = oc_norm(c, kind, v[0] == 2 ? HK : 1, DK, 0, false);
	r->norm_when = (uint32_t)v[0];
	r->rope = v[1] < 0 ? LMD_NONE : oc_rope(c, v[3] ? 16 : DK, (uint32_t)v[1], (uint32_t)v[2]);
	r->rot0 = (uint32_t)v[3];
	r->append = (uint32_t)v[4];
	if (v[4])
		r->cache = 0;
	if (v[4] & LMD_APPEND_V)
		r->v = oc_x(c, T, HK, DK);
	r->sign = v[5] ? -1 : 1;
	if (v[6])
		r->pos = oc_in_ids(c, T, 1, 0, 100000);
	r->q_out = oc_y(c, T, H, DK);
	r->k_out = oc_y(c, T, HK, DK);
	oc_emit(c, &op);
}

/* A head of q and one of k, of v[0] columns. */
static void rope_wide(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_ROPE_KV);
	struct lmd_op_rope_kv *r = &op.u.rope_kv;
	uint32_t width = (uint32_t)v[0];

	r->q = oc_x(c, T, 1, width);
	r->k = oc_x(c, T, 1, width);
	r->qn = oc_norm(c, LMD_NORM_RMS, 1, width, 0, false);
	r->norm_when = 1;
	r->rope = oc_rope(c, DK, LMD_ROPE_HALVES, 0);
	r->rot0 = width - DK;
	r->sign = 1;
	r->q_out = oc_y(c, T, 1, width);
	r->k_out = oc_y(c, T, 1, width);
	oc_emit(c, &op);
}

static const struct lmd_cache kv[] = {
	{OC_G_FULL, LMD_CACHE_KV, HK, DK, DK, LMD_KV_DTYPE_USER, 0, 0}};
static const struct lmd_cache index_keys[] = {
	{OC_G_COMP, LMD_CACHE_INDEX, HK, DK, 0, LMD_KV_DTYPE_F32, 0, 0},
};

static const struct opcase rope_kv_cases[] = {
	{"halves, appended", rope_kv, {0, LMD_ROPE_HALVES, 0, 0, 3}, 0, kv, 1, .nmse = OC_ELEM},
	{"appended twice",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 OC_AGAIN,
	 kv,
	 1,
	 .nmse = OC_ELEM},
	{"appended by two plans",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 OC_TWO_PLANS,
	 kv,
	 1,
	 .nmse = OC_ELEM},
	{"appended to a long context",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 OC_LONG,
	 kv,
	 1,
	 .nmse = OC_ELEM},
	{"keys of f16, values of q8_0",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_F16,
	 .v_dtype = LMD_DTYPE_Q8_0},
	{"adjacent, norm before",
	 rope_kv,
	 {1, LMD_ROPE_ADJACENT, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_SUM},
	{"adjacent, some columns, norm after",
	 rope_kv,
	 {2, LMD_ROPE_ADJACENT, 0, 8, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_SUM},
	{"sections in blocks",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, LMD_SECTIONS_BLOCKS, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_ELEM},
	{"interleaved sections, not stored",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, LMD_SECTIONS_INTERLEAVED},
	 .nmse = OC_ELEM},
	{"two dimensions", rope_kv, {0, LMD_ROPE_HALVES, LMD_SECTIONS_2D}, .nmse = OC_ELEM},
	{"inverse rotation, given far positions",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 0, 1, 1},
	 .nmse = OC_ELEM},
	{"into f16",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_HALF,
	 .kv_dtype = LMD_DTYPE_F16},
	{"into q8_0",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_Q8_0},
	{"into bf16",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_BF16},
	{"into f8_e4m3",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_F8_E4M3},
	{"into q5_1",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_Q5_1},
	{"into q5_0",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_Q5_0},
	{"into q4_1",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_Q4_1},
	{"into q4_0",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_Q4_0},
	{"into iq4_nl",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_IQ4_NL},
	{"keys of q8_0, values of q5_1",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 3},
	 0,
	 kv,
	 1,
	 .nmse = OC_BYTE,
	 .kv_dtype = LMD_DTYPE_Q8_0,
	 .v_dtype = LMD_DTYPE_Q5_1},
	{"no rotation, norm", rope_kv, {1, -1, 0, 0, 3}, 0, kv, 1, .nmse = OC_SUM},
	{"heads that fill 48 KiB of shared memory with 64 sums",
	 rope_wide,
	 {12224},
	 .nmse = OC_SUM},
	{"heads wider than 48 KiB of shared memory", rope_wide, {12225}, .nmse = OC_SUM},
	{"index keys at block ends",
	 rope_kv,
	 {0, LMD_ROPE_HALVES, 0, 0, 1},
	 0,
	 index_keys,
	 1,
	 .nmse = OC_ELEM},
};
SET(rope_kv, LMD_OP_ROPE_KV);

/* ---- ATTN ---- */

enum {
	A_SOFTCAP = 1,
	A_SINKS = 2,
	A_ALIBI = 4,
	A_BUCKET = 8,
	A_REL = 16,
	A_TREE = 32,
	A_CYCLE = 64,
	A_LIST = 128,
	A_LIST_HEADS = 256,
	A_BIDI = 512,
	A_BATCH_TOO = 1024
};

static void attn_bias(struct oc *c, struct lmd_op_attn *a, int flags)
{
	const struct oc_w bucket = {.n = 16, .k = H, .std = 1};
	const struct oc_w rel = {.n = 9, .k = 5, .std = 0.5};

	if (flags & A_SINKS)
		a->sinks = oc_vector(c, H, 0.5, 1).id;
	if (flags & A_ALIBI) {
		a->bias = LMD_BIAS_ALIBI;
		a->bias_w = oc_vector(c, H, 0.1, 0.05).id;
	}
	if (flags & A_BUCKET) {
		a->bias = LMD_BIAS_BUCKET;
		a->bias_w = oc_weight(c, &bucket);
		a->n_bucket = 16;
		a->bidirectional = !!(flags & A_BIDI);
		a->max_distance = 50;
	}
	for (uint32_t i = 0; (flags & A_REL) && i < 2; i++) {
		a->bias = LMD_BIAS_REL;
		a->rel[i].q2 = oc_x(c, T, H, 5);
		a->rel[i].r = oc_weight(c, &rel);
		a->rel[i].off = 4 - (int32_t)i;
		a->rel[i].plane = flags & A_BATCH_TOO ? i : 0;
	}
}

/* kind of the first source (0 cache, 1 rows), flags, dk, dv, number of key heads, group of the
 * cache, number of heads (0: H) */
static void attn(struct oc *c, const int *v)
{
	uint32_t dk = (uint32_t)v[2], dv = (uint32_t)v[3], hk = (uint32_t)v[4];
	uint32_t h = v[6] ? (uint32_t)v[6] : H;
	struct lmd_op op = oc_op(LMD_OP_ATTN);
	struct lmd_op_attn *a = &op.u.attn;
	bool both = v[1] & A_BATCH_TOO;

	a->q = oc_x(c, T, h, dk);
	a->n_kv_head = hk;
	a->kv_map = v[1] & A_CYCLE ? LMD_MAP_CYCLE : LMD_MAP_BLOCK;
	a->scale = 1.0f / sqrtf((float)dk);
	for (int i = 0; i < (both ? 2 : 1); i++) {
		struct lmd_attn_src *s = &a->src[i];

		s->kind = i || v[0] ? LMD_KV_ROWS : LMD_KV_CACHE;
		s->group = i || v[0] ? (uint32_t)OC_G_BATCH : (uint32_t)v[5];
		if (s->kind == LMD_KV_CACHE) {
			s->cache = 0;
		} else {
			s->k = oc_x(c, T, hk, dk);
			s->v = oc_x(c, T, hk, dv);
		}
	}
	if (v[1] & (A_LIST | A_LIST_HEADS)) {
		bool heads = v[1] & A_LIST_HEADS;

		a->src[0].list = oc_list(c, T, heads ? hk : 1, 20, heads ? 2 : 7);
		a->src[0].list_unit = heads ? 3 : 1;
	}
	if (v[1] & A_SOFTCAP)
		a->softcap = 2;
	a->tree = !!(v[1] & A_TREE);
	attn_bias(c, a, v[1]);
	a->y = oc_y(c, T, h, dv);
	oc_emit(c, &op);
}

static struct lmd_operand heads(struct lmd_operand y, uint32_t n_head, uint32_t width)
{
	y.n_head = n_head;
	y.head_stride = y.width = width;
	return y;
}

/* The attention of a layer, from its products to what is added to the residual stream. */
static void attn_block(struct oc *c, const int *v)
{
	const struct oc_w wq = {.n = H * DK, .k = 48}, wk = {.n = HK * DK, .k = 48};
	const struct oc_w wo = {.n = 48, .k = H * DK};
	struct lmd_op qkv = oc_op(LMD_OP_LINEAR), rope = oc_op(LMD_OP_ROPE_KV);
	struct lmd_op op = oc_op(LMD_OP_ATTN), out = oc_op(LMD_OP_LINEAR);
	struct lmd_operand x = oc_x(c, T, 1, 48);

	(void)v;
	qkv.u.linear.x = x;
	qkv.u.linear.n_w = 3;
	for (uint32_t i = 0; i < 3; i++) {
		qkv.u.linear.w[i] = oc_weight(c, i ? &wk : &wq);
		qkv.u.linear.y[i] = oc_y(c, T, 1, i ? HK * DK : H * DK);
	}
	oc_emit(c, &qkv);
	rope.u.rope_kv.q = heads(qkv.u.linear.y[0], H, DK);
	rope.u.rope_kv.k = heads(qkv.u.linear.y[1], HK, DK);
	rope.u.rope_kv.v = heads(qkv.u.linear.y[2], HK, DK);
	rope.u.rope_kv.rope = oc_rope(c, DK, LMD_ROPE_HALVES, 0);
	rope.u.rope_kv.append = LMD_APPEND_K | LMD_APPEND_V;
	rope.u.rope_kv.cache = 0;
	rope.u.rope_kv.sign = 1;
	rope.u.rope_kv.q_out = oc_y(c, T, H, DK);
	oc_emit(c, &rope);
	op.u.attn.q = rope.u.rope_kv.q_out;
	op.u.attn.n_kv_head = HK;
	op.u.attn.scale = 1.0f / sqrtf((float)DK);
	op.u.attn.src[0].kind = LMD_KV_CACHE;
	op.u.attn.src[0].group = OC_G_FULL;
	op.u.attn.src[0].cache = 0;
	op.u.attn.y = oc_y(c, T, 1, H * DK);
	op.u.attn.y = heads(op.u.attn.y, H, DK);
	oc_emit(c, &op);
	out.u.linear.x = op.u.attn.y;
	out.u.linear.x.n_head = 1;
	out.u.linear.x.width = H * DK;
	out.u.linear.n_w = 1;
	out.u.linear.w[0] = oc_weight(c, &wo);
	out.u.linear.y[0] = oc_y(c, T, 1, 48);
	oc_emit(c, &out);
}

/* Rows of TOKENS attend to keys of X0, or rows of X0 to each other. */
static void attn_x(struct oc *c, const int *v)
{
	uint32_t space = v[0] ? LMD_SPACE_X0 : T;
	struct lmd_op op = oc_op(LMD_OP_ATTN);
	struct lmd_op_attn *a = &op.u.attn;

	oc_map(c, 0, 3, 4, 1);
	a->q = oc_x(c, space, H, DK);
	a->n_kv_head = HK;
	a->scale = 0.2f;
	a->src[0].kind = v[0] ? LMD_KV_ROWS : LMD_KV_CACHE;
	a->src[0].group = v[0] ? OC_G_XB : OC_G_CROSS;
	if (v[0]) {
		a->src[0].k = oc_x(c, space, HK, DK);
		a->src[0].v = oc_x(c, space, HK, DK);
		a->bias = LMD_BIAS_ALIBI;
		a->bias_w = oc_vector(c, H, 0.1, 0.05).id;
	} else {
		a->src[0].cache = 0;
	}
	a->y = oc_y(c, space, H, DK);
	oc_emit(c, &op);
}

#define MEM(name, kind, hk, dk, dv, policy)                                                        \
	static const struct lmd_cache name[] = {{OC_G_FULL, kind, hk, dk, dv, policy, 0, 0}}
MEM(kv_mqa, LMD_CACHE_KV, 1, 40, 24, LMD_KV_DTYPE_F32);
MEM(kv_mha, LMD_CACHE_KV, 4, 16, 16, LMD_KV_DTYPE_F32);
MEM(mla, LMD_CACHE_V_IN_K, 1, 36, 32, LMD_KV_DTYPE_F32);
MEM(kv_64, LMD_CACHE_KV, 1, 64, 64, LMD_KV_DTYPE_F32);
MEM(kv_80, LMD_CACHE_KV, 2, 80, 80, LMD_KV_DTYPE_F32);
MEM(kv_128, LMD_CACHE_KV, 2, 128, 128, LMD_KV_DTYPE_F32);
MEM(kv_256, LMD_CACHE_KV, 2, 256, 256, LMD_KV_DTYPE_F32);
MEM(kv_64_user, LMD_CACHE_KV, 1, 64, 64, LMD_KV_DTYPE_USER);
MEM(kv_96_user, LMD_CACHE_KV, 2, 96, 64, LMD_KV_DTYPE_USER);
MEM(kv_256_user, LMD_CACHE_KV, 2, 256, 256, LMD_KV_DTYPE_USER);
MEM(kv_192_user, LMD_CACHE_KV, 2, 192, 128, LMD_KV_DTYPE_USER);
MEM(mla_user, LMD_CACHE_V_IN_K, 1, 128, 64, LMD_KV_DTYPE_USER);
MEM(mla_576, LMD_CACHE_V_IN_K, 1, 576, 512, LMD_KV_DTYPE_F32);
static const struct lmd_cache comp[] = {
	{OC_G_COMP, LMD_CACHE_KV, HK, DK, DK, LMD_KV_DTYPE_F32, 0, 0},
};
static const struct lmd_cache cross[] = {
	{OC_G_CROSS, LMD_CACHE_KV, HK, DK, DK, LMD_KV_DTYPE_F32, 0, 0},
};

static const struct opcase attn_cases[] = {
	{"cache, two key heads", attn, {0, 0, DK, DK, HK, OC_G_FULL}, 0, kv, 1, .nmse = OC_CHAIN},
	{"cache of f16",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_F16},
	{"cache of bf16",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_BF16},
	{"cache of q8_0",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q8_0},
	{"cache of f8_e4m3",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_F8_E4M3},
	{"cache of f8_e4m3, heads of 64",
	 attn,
	 {0, 0, 64, 64, 1, OC_G_FULL, 8},
	 0,
	 kv_64_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_F8_E4M3},
	{"keys of f8_e4m3, values of f16, heads of 256",
	 attn,
	 {0, 0, 256, 256, 2, OC_G_FULL},
	 0,
	 kv_256_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_F8_E4M3,
	 .v_dtype = LMD_DTYPE_F16},
	{"keys of bf16, values of f8_e4m3, heads of 96 and 64",
	 attn,
	 {0, 0, 96, 64, 2, OC_G_FULL},
	 0,
	 kv_96_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_BF16,
	 .v_dtype = LMD_DTYPE_F8_E4M3},
	{"cache of q4_0",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q4_0},
	{"cache of q5_1",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q5_1},
	{"cache of q5_0",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q5_0},
	{"cache of q4_1",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q4_1},
	{"cache of iq4_nl",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_IQ4_NL},
	{"one key head, dv < dk, softcap",
	 attn,
	 {0, A_SOFTCAP, 40, 24, 1, OC_G_FULL},
	 0,
	 kv_mqa,
	 1,
	 .nmse = OC_CHAIN},
	{"one key head per head, sinks",
	 attn,
	 {0, A_SINKS, 16, 16, 4, OC_G_FULL},
	 0,
	 kv_mha,
	 1,
	 .nmse = OC_CHAIN},
	{"cyclic key heads, alibi",
	 attn,
	 {0, A_CYCLE | A_ALIBI, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"keys of f16, values of q8_0",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_F16,
	 .v_dtype = LMD_DTYPE_Q8_0},
	{"keys of q8_0, values of bf16",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q8_0,
	 .v_dtype = LMD_DTYPE_BF16},
	{"keys of q8_0, values of q4_0, heads of 64",
	 attn,
	 {0, 0, 64, 64, 1, OC_G_FULL, 8},
	 0,
	 kv_64_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q8_0,
	 .v_dtype = LMD_DTYPE_Q4_0},
	{"keys of q5_1, values of iq4_nl, heads of 96 and 64",
	 attn,
	 {0, 0, 96, 64, 2, OC_G_FULL},
	 0,
	 kv_96_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q5_1,
	 .v_dtype = LMD_DTYPE_IQ4_NL},
	{"keys of q4_1, values of q5_0, heads of 256",
	 attn,
	 {0, 0, 256, 256, 2, OC_G_FULL},
	 0,
	 kv_256_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q4_1,
	 .v_dtype = LMD_DTYPE_Q5_0},
	{"cache of q4_0_rot, heads of 64",
	 attn,
	 {0, 0, 64, 64, 1, OC_G_FULL, 8},
	 0,
	 kv_64_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q4_0_ROT},
	{"keys of q4_0_rot, values of q8_0, heads of 256",
	 attn,
	 {0, 0, 256, 256, 2, OC_G_FULL},
	 0,
	 kv_256_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q4_0_ROT,
	 .v_dtype = LMD_DTYPE_Q8_0},
	{"values in keys of q4_0_rot",
	 attn,
	 {0, 0, 128, 64, 1, OC_G_FULL},
	 0,
	 mla_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_Q4_0_ROT},
	{"heads of 64, eight share a key head",
	 attn,
	 {0, 0, 64, 64, 1, OC_G_FULL, 8},
	 0,
	 kv_64,
	 1,
	 .nmse = OC_CHAIN},
	{"heads of 80", attn, {0, 0, 80, 80, 2, OC_G_FULL}, 0, kv_80, 1, .nmse = OC_CHAIN},
	{"heads of 128, eight share a key head",
	 attn,
	 {0, 0, 128, 128, 2, OC_G_FULL, 16},
	 0,
	 kv_128,
	 1,
	 .nmse = OC_CHAIN},
	{"heads of 256", attn, {0, 0, 256, 256, 2, OC_G_FULL}, 0, kv_256, 1, .nmse = OC_CHAIN},
	{"cache of f16, heads of 256",
	 attn,
	 {0, 0, 256, 256, 2, OC_G_FULL},
	 0,
	 kv_256_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_F16},
	{"cache of bf16, heads of 192 and 128, alibi",
	 attn,
	 {0, A_ALIBI, 192, 128, 2, OC_G_FULL},
	 0,
	 kv_192_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_BF16},
	{"values of 512 in keys of 576",
	 attn,
	 {0, 0, 576, 512, 1, OC_G_FULL},
	 0,
	 mla_576,
	 1,
	 .nmse = OC_CHAIN},
	{"a step run twice",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 OC_AGAIN,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"two plans of the same pools",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 OC_TWO_PLANS,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"page tables set before the step",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 OC_SET_TABLE,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"a cancelled step, then the step",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 OC_CANCEL,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"long context, two key heads",
	 attn,
	 {0, 0, DK, DK, HK, OC_G_FULL},
	 OC_LONG,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"long context, keys of f16, values of q8_0, eight share a key head",
	 attn,
	 {0, 0, 64, 64, 1, OC_G_FULL, 8},
	 OC_LONG,
	 kv_64_user,
	 1,
	 .nmse = OC_CHAIN,
	 .kv_dtype = LMD_DTYPE_F16,
	 .v_dtype = LMD_DTYPE_Q8_0},
	{"a block in segments", attn_block, {0}, OC_CUT, kv, 1, .nmse = OC_CHAIN},
	{"values in keys", attn, {0, 0, 36, 32, 1, OC_G_FULL}, 0, mla, 1, .nmse = OC_CHAIN},
	{"buckets", attn, {0, A_BUCKET, DK, DK, HK, OC_G_FULL}, 0, kv, 1, .nmse = OC_CHAIN},
	{"rows, buckets both ways", attn, {1, A_BUCKET | A_BIDI, DK, DK, HK}, .nmse = OC_CHAIN},
	{"rows, dv > dk", attn, {1, 0, 20, 28, 2}, .nmse = OC_CHAIN},
	{"relative terms", attn, {0, A_REL, DK, DK, HK, OC_G_FULL}, 0, kv, 1, .nmse = OC_CHAIN},
	{"draft tree", attn, {0, A_TREE, DK, DK, HK, OC_G_FULL}, OC_TREE, kv, 1, .nmse = OC_CHAIN},
	{"draft tree of rows", attn, {1, A_TREE, DK, DK, HK}, OC_TREE, .nmse = OC_CHAIN},
	{"list of keys", attn, {0, A_LIST, DK, DK, HK, OC_G_FULL}, 0, kv, 1, .nmse = OC_CHAIN},
	{"lists of units for heads, sinks",
	 attn,
	 {0, A_LIST_HEADS | A_SINKS, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"cache and rows in one softmax",
	 attn,
	 {0, A_BATCH_TOO | A_SINKS, DK, DK, HK, OC_G_FULL},
	 0,
	 kv,
	 1,
	 .nmse = OC_CHAIN},
	{"one key per four tokens, and rows",
	 attn,
	 {0, A_BATCH_TOO | A_ALIBI, DK, DK, HK, OC_G_COMP},
	 0,
	 comp,
	 1,
	 .nmse = OC_CHAIN},
	{"cross", attn_x, {0}, 0, cross, 1, .nmse = OC_CHAIN},
	{"rows of an X space, alibi", attn_x, {1}, OC_ENCODE, .nmse = OC_CHAIN},
};
SET(attn, LMD_OP_ATTN);
