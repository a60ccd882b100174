/* SPDX-License-Identifier: MIT
 *
 * Cases of EMBED, NORM, LINEAR, GLU, FFN and HEAD. */
#include <math.h>

#include "core/conformance/opcase_priv.h"

#define T LMD_SPACE_TOKENS
#define SET(op_, code)                                                                             \
	const struct opcase_set opcase_##op_ = {code, op_##_cases, LMD_LEN(op_##_cases)}

/* ---- EMBED: dtype, n_id, idx (0 token, 1 ids), neg, with position row, with type row ---- */

static void embed(struct oc *c, const int *v)
{
	const struct oc_w w = {.dtype = (uint32_t)v[0], .n = OC_VOCAB, .k = 64, .std = 1};
	struct lmd_op op = oc_op(LMD_OP_EMBED);
	struct lmd_op_embed *e = &op.u.embed;
	uint32_t width = (uint32_t)v[1] * 64;

	e->table = oc_weight(c, &w);
	e->n_id = (uint32_t)v[1];
	e->idx_kind = v[2] ? LMD_IDX_OPERAND : LMD_IDX_TOKEN;
	if (v[2])
		e->idx = oc_ids(c, T, e->n_id, -1, OC_VOCAB - 1);
	e->neg = (uint32_t)v[3];
	e->neg_row = 5;
	e->scale = 1.5f;
	e->scale_ext = 0.75f;
	e->ext_col0 = 3;
	if (v[4]) {
		const struct oc_w p = {.n = OC_MAX_KEYS, .k = width, .std = 1};

		e->pos_table = oc_weight(c, &p);
		e->pos_off = v[4] - 1;
		if (v[2])
			e->pos = oc_in_ids(c, T, 1, 0, 100);
	}
	if (v[5]) {
		const struct oc_w p = {.n = 2, .k = width, .std = 1};

		e->type_table = oc_weight(c, &p);
		e->type_row = 1;
	}
	e->lora_site = oc_site(c, 64, OC_VOCAB, 1);
	e->y = oc_y(c, T, 1, width);
	oc_emit(c, &op);
}

static void embed_table(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_EMBED);
	struct lmd_op_embed *e = &op.u.embed;

	e->table = oc_table(c, OC_VOCAB, 3, -5, 1000);
	e->neg = (uint32_t)v[0];
	e->neg_row = 7;
	e->y = oc_y_ids(c, T, 1, 3);
	oc_emit(c, &op);
}

static const struct opcase embed_cases[] = {
	{"f32, tokens and rows of the input", embed, {LMD_DTYPE_F32, 1}, .nmse = OC_ELEM},
	{"q8_0, a row for negative tokens", embed, {LMD_DTYPE_Q8_0, 1, 0, LMD_NEG_ROW, 1},
	 .nmse = OC_ELEM},
	{"f16, zeros, position and type", embed, {LMD_DTYPE_F16, 1, 0, LMD_NEG_ZERO, 3, 1},
	 .nmse = OC_ELEM},
	{"q4_0, three ids side by side", embed, {LMD_DTYPE_Q4_0, 3, 1, 0, 1, 1}, .nmse = OC_ELEM},
	{"q8_kv, rows with a header", embed, {LMD_DTYPE_Q8_KV, 1}, .nmse = OC_ELEM},
	{"f32 with adapters", embed, {LMD_DTYPE_F32, 1}, OC_LORA, .nmse = OC_ELEM},
	{"f32 with adapters with a gain", embed, {LMD_DTYPE_F32, 1}, OC_LORA | OC_GAIN, .nmse = OC_ELEM},
	{"i32 table", embed_table, {LMD_NEG_ROW}, .nmse = OC_EXACT},
	{"i32 table, zeros", embed_table, {LMD_NEG_ZERO}, .nmse = OC_EXACT},
};
SET(embed, LMD_OP_EMBED);

/* ---- NORM: kind, heads, width, groups of n, 1 g + 1 2 g in f16, bias, residual, 1 stat 2 over rows ---- */

static void norm(struct oc *c, const int *v)
{
	uint32_t heads = (uint32_t)v[1], width = (uint32_t)v[2];
	struct lmd_op op = oc_op(LMD_OP_NORM);
	struct lmd_op_norm *n = &op.u.norm;
	uint32_t groups = v[3] ? heads * width / (uint32_t)v[3] : heads;

	n->x = oc_x_like(c, T, heads, width, 0.5, 2);
	n->norm = oc_norm(c, (uint32_t)v[0], v[6] ? heads : 1, width, v[4] == 1, v[5]);
	n->norm.n = (uint32_t)v[3];
	if (v[4] == 2)
		n->norm.g = oc_half_vector(c, (v[6] ? heads : 1) * width, 1, 0.2);
	if (v[6]) {
		n->r = oc_x(c, T, heads, width);
		n->a = 0.7f;
		n->h = oc_y(c, T, heads, width);
	}
	n->y = oc_y(c, T, heads, width);
	if (v[7])
		n->stat = oc_y(c, T, 1, 2 * groups);
	n->over_rows = v[7] == 2;
	oc_emit(c, &op);
}

static const struct opcase norm_cases[] = {
	{"rms", norm, {LMD_NORM_RMS, 1, 72}, .nmse = OC_SUM},
	{"rms with residual and statistics", norm, {LMD_NORM_RMS, 1, 72, 0, 0, 0, 1, 1},
	 .nmse = OC_SUM},
	{"rms of heads, g + 1", norm, {LMD_NORM_RMS, 3, 20, 0, 1}, .nmse = OC_SUM},
	{"layer with bias and residual", norm, {LMD_NORM_LAYER, 1, 65, 0, 0, 1, 1}, .nmse = OC_SUM},
	{"layer in groups of heads", norm, {LMD_NORM_LAYER, 2, 24, 8, 0, 1, 0, 1}, .nmse = OC_SUM},
	{"l2 of heads", norm, {LMD_NORM_L2, 4, 16}, .nmse = OC_SUM},
	{"layer in groups over rows", norm, {LMD_NORM_LAYER, 1, 48, 12, 0, 1, 0, 2},
	 .nmse = OC_SUM},
	{"rms, weights in f16", norm, {LMD_NORM_RMS, 1, 72, 0, 2}, .nmse = OC_SUM},
	{"rms over rows", norm, {LMD_NORM_RMS, 1, 10, 0, 0, 0, 0, 2}, .nmse = OC_SUM},
};
SET(norm, LMD_OP_NORM);

/* ---- LINEAR: dtype, K, N, n_w, heads, epilogue (1 all, 2 residual only), prologue ---- */

static void epilogue(struct oc *c, struct lmd_op_linear *l, uint32_t i, uint32_t heads, uint32_t n,
		     int kind)
{
	if (kind != 2)
		l->y[i] = oc_y(c, T, heads, n);
	if (kind) {
		l->r_in[i] = oc_x(c, T, heads, n);
		l->r_out[i] = oc_y(c, T, heads, n);
	}
}

static void linear(struct oc *c, const int *v)
{
	uint32_t k = (uint32_t)v[1], heads = v[4] ? (uint32_t)v[4] : 1;
	struct lmd_op op = oc_op(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;

	l->x = oc_x(c, T, heads, k);
	l->n_w = (uint32_t)v[3];
	l->pro = oc_norm(c, (uint32_t)v[6], 1, k, 0, true);
	for (uint32_t i = 0; i < l->n_w; i++) {
		uint32_t n = (uint32_t)v[2] + i;
		const struct oc_w w = {
			.dtype = (uint32_t)v[0],
			.n = n,
			.k = k,
			.bias = v[5] != 0 || i == 1,
			.n_scale = v[5] ? (i % 2 ? n : 1) : 0,
			.parts = i == 2 ? 3 : 1,
		};

		l->w[i] = oc_weight(c, &w);
		l->lora_site[i] = oc_site(c, n, k, 1);
		epilogue(c, l, i, heads, n, v[5]);
	}
	if (v[5]) {
		l->scale = 1.25f;
		l->a = 0.5f;
		l->act = LMD_ACT_FN_GELU;
		l->softcap = 3;
		l->clamp_lo = -0.5f;
		l->clamp_hi = 1.5f;
	}
	oc_emit(c, &op);
}

/* with ids: K, N, heads of x (1 or k), k choices, epilogue */
static void linear_ids(struct oc *c, const int *v)
{
	uint32_t k = (uint32_t)v[0], n = (uint32_t)v[1], picks = (uint32_t)v[3];
	const struct oc_w w = {
		.n_stack = 5,
		.n = n,
		.k = k,
		.bias = v[4] != 0,
		.n_scale = v[4] ? 5 : 0,
		.transform = v[4] == 2 ? LMD_TRANSFORM_STACK_EXPERTS : 0,
	};
	struct lmd_op op = oc_op(LMD_OP_LINEAR);
	struct lmd_op_linear *l = &op.u.linear;

	l->x = oc_x(c, T, (uint32_t)v[2], k);
	l->n_w = 1;
	l->w[0] = oc_weight(c, &w);
	l->lora_site[0] = oc_site(c, n, k, 5);
	l->ids = oc_ids(c, T, picks, -1, 4);
	epilogue(c, l, 0, picks, n, v[4]);
	if (v[4])
		l->a = 0.5f;
	oc_emit(c, &op);
}

/* All other types, with whole blocks of 256. */
#define TYPE(ID, name, number)                                                                     \
	{#name, linear, {LMD_DTYPE_##ID, 256, 17, 1}, OC_INT8, .nmse = OC_SUM},
static const struct opcase linear_cases[] = {
	{"f32, K 1", linear, {LMD_DTYPE_F32, 1, 3, 1}, .nmse = OC_SUM},
	{"f32, K 24", linear, {LMD_DTYPE_F32, 24, 33, 1}, .nmse = OC_SUM},
	{"f32, K 515, four weights", linear, {LMD_DTYPE_F32, 515, 9, 4}, .nmse = OC_SUM},
	{"f16, K 40, rms before", linear, {LMD_DTYPE_F16, 40, 16, 1, 0, 0, LMD_NORM_RMS},
	 .nmse = OC_SUM},
	{"bf16, K 31, layer norm before, whole epilogue", linear,
	 {LMD_DTYPE_BF16, 31, 12, 2, 0, 1, LMD_NORM_LAYER}, .nmse = OC_CHAIN},
	{"bf16, K 264, rms before", linear, {LMD_DTYPE_BF16, 264, 21, 2, 0, 0, LMD_NORM_RMS},
	 .nmse = OC_SUM},
	{"heads as rows", linear, {LMD_DTYPE_F32, 20, 7, 1, 3, 1}, .nmse = OC_CHAIN},
	{"residual only", linear, {LMD_DTYPE_F32, 48, 11, 1, 0, 2}, .nmse = OC_CHAIN},
	{"q4_0, three weights, whole epilogue", linear, {LMD_DTYPE_Q4_0, 96, 20, 3, 0, 1},
	 OC_INT8, .nmse = OC_CHAIN},
	{"q8_0 with adapters", linear, {LMD_DTYPE_Q8_0, 64, 10, 2, 0, 1}, OC_LORA,
	 .nmse = OC_CHAIN},
	{"q8_0 with adapters with a gain", linear, {LMD_DTYPE_Q8_0, 64, 10, 2, 0, 1},
	 OC_LORA | OC_GAIN, .nmse = OC_CHAIN},
	{"ids, one x", linear_ids, {24, 9, 1, 2}, .nmse = OC_SUM},
	{"ids, one x per choice, whole epilogue", linear_ids, {24, 9, 3, 3, 1}, .nmse = OC_CHAIN},
	{"ids, one tensor per expert", linear_ids, {31, 8, 1, 4, 2}, .nmse = OC_CHAIN},
	{"ids with adapters of experts", linear_ids, {24, 9, 1, 2, 1}, OC_LORA, .nmse = OC_CHAIN},
	{"ids with adapters of experts with a gain", linear_ids, {24, 9, 1, 2, 1}, OC_LORA | OC_GAIN,
	 .nmse = OC_CHAIN},
	LMD_DTYPES_WEIGHT(TYPE)
};
SET(linear, LMD_OP_LINEAR);

/* ---- GLU: act, with b ---- */

static void act_params(uint32_t act, float p[LMD_N_ACT_FN_PARAM])
{
	const float xielu[] = {0.8f, 0.6f, 0.5f, -1e-6f};

	p[0] = act == LMD_ACT_FN_OAI ? 1.702f : 1.5f;
	p[1] = 0.9f;
	for (int i = 0; act == LMD_ACT_FN_XIELU && i < 4; i++)
		p[i] = xielu[i];
}

static void glu(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_GLU);
	struct lmd_op_glu *g = &op.u.glu;

	g->act = (uint32_t)v[0];
	act_params(g->act, g->p);
	g->a = oc_x_like(c, T, v[1] == 2 ? 3 : 1, 33, 0, 2);
	if (v[1])
		g->b = oc_x_like(c, T, v[1] == 2 ? 3 : 1, 33, 0, 2);
	g->y = oc_y(c, T, v[1] == 2 ? 3 : 1, 33);
	oc_emit(c, &op);
}

#define GLU(name, act)                                                                             \
	{name, glu, {act, 1}, .nmse = OC_ELEM}, {name " without b", glu, {act, 0}, .nmse = OC_ELEM}
static const struct opcase glu_cases[] = {
	GLU("none", LMD_ACT_FN_NONE),
	GLU("silu", LMD_ACT_FN_SILU),
	GLU("gelu", LMD_ACT_FN_GELU),
	GLU("gelu erf", LMD_ACT_FN_GELU_ERF),
	GLU("gelu quick", LMD_ACT_FN_GELU_QUICK),
	GLU("relu", LMD_ACT_FN_RELU),
	GLU("relu2", LMD_ACT_FN_RELU2),
	GLU("sigmoid", LMD_ACT_FN_SIGMOID),
	GLU("softplus", LMD_ACT_FN_SOFTPLUS),
	GLU("tanh", LMD_ACT_FN_TANH),
	GLU("xielu", LMD_ACT_FN_XIELU),
	GLU("oai", LMD_ACT_FN_OAI),
	GLU("silu, clamped before", LMD_ACT_FN_SILU_CLAMP_IN),
	GLU("silu, clamped after", LMD_ACT_FN_SILU_CLAMP_OUT),
	GLU("situ", LMD_ACT_FN_SITU),
	GLU("exp", LMD_ACT_FN_EXP),
	{"silu of heads", glu, {LMD_ACT_FN_SILU, 2}, .nmse = OC_ELEM},
};
SET(glu, LMD_OP_GLU);

/* ---- FFN: dtype, act, gate, norm, bias and scale, residual (1 both, 2 only) ---- */

static void ffn(struct oc *c, const int *v)
{
	const struct oc_w wide = {
		.dtype = (uint32_t)v[0],
		.n = 96,
		.k = 64,
		.bias = v[4],
		.n_scale = v[4] ? 96 : 0,
	};
	const struct oc_w down = {
		.dtype = (uint32_t)v[0],
		.n = 64,
		.k = 96,
		.bias = v[4],
		.n_scale = v[4] ? 1 : 0,
	};
	struct lmd_op op = oc_op(LMD_OP_FFN);
	struct lmd_op_ffn *f = &op.u.ffn;

	f->x = oc_x(c, T, 1, 64);
	f->norm = oc_norm(c, (uint32_t)v[3], 1, 64, 0, false);
	f->gate = v[2] ? oc_weight(c, &wide) : LMD_NONE;
	f->up = oc_weight(c, &wide);
	f->down = oc_weight(c, &down);
	f->act = (uint32_t)v[1];
	act_params(f->act, f->p);
	f->lora_site[0] = v[2] ? oc_site(c, 96, 64, 1) : LMD_NONE;
	f->lora_site[1] = oc_site(c, 96, 64, 1);
	f->lora_site[2] = oc_site(c, 64, 96, 1);
	if (v[5] != 2)
		f->y = oc_y(c, T, 1, 64);
	if (v[5]) {
		f->a = 0.6f;
		f->r_in = oc_x(c, T, 1, 64);
		f->r_out = oc_y(c, T, 1, 64);
	}
	oc_emit(c, &op);
}

static const struct opcase ffn_cases[] = {
	{"f32 silu",
	 ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_SILU, 1, LMD_NORM_RMS, 0, 2},
	 .nmse = OC_CHAIN},
	{"f32 relu2 without gate",
	 ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_RELU2, 0, LMD_NORM_LAYER, 1, 1},
	 .nmse = OC_CHAIN},
	{"q4_1 gelu, scales and biases",
	 ffn,
	 {LMD_DTYPE_Q4_1, LMD_ACT_FN_GELU, 1, 0, 1, 0},
	 OC_INT8,
	 .nmse = OC_CHAIN},
	{"q8_0 oai",
	 ffn,
	 {LMD_DTYPE_Q8_0, LMD_ACT_FN_OAI, 1, LMD_NORM_RMS, 1, 1},
	 OC_INT8,
	 .nmse = OC_CHAIN},
	{"f32 silu with adapters",
	 ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_SILU, 1, LMD_NORM_RMS, 0, 2},
	 OC_LORA,
	 .nmse = OC_CHAIN},
	{"f32 silu with adapters with a gain",
	 ffn,
	 {LMD_DTYPE_F32, LMD_ACT_FN_SILU, 1, LMD_NORM_RMS, 0, 2},
	 OC_LORA | OC_GAIN,
	 .nmse = OC_CHAIN},
};
SET(ffn, LMD_OP_FFN);

/* ---- HEAD: dtype, norm, softcap and bias ---- */

static void head(struct oc *c, const int *v)
{
	const struct oc_w w = {.dtype = (uint32_t)v[0], .n = 101, .k = 64, .bias = v[2]};
	struct lmd_op op = oc_op(LMD_OP_HEAD);
	struct lmd_op_head *h = &op.u.head;

	h->x = oc_x(c, T, 1, 64);
	h->norm = oc_norm(c, (uint32_t)v[1], 1, 64, 0, false);
	h->w = oc_weight(c, &w);
	h->lora_site = oc_site(c, 101, 64, 1);
	h->scale = 0.8f;
	if (v[2]) {
		float ban[101] = {0};

		ban[3] = ban[100] = -INFINITY;
		ban[4] = 0.5f;
		h->bias = c->b->literal(c->b->ctx, ban, 1, 101, LMD_SPLIT_REPLICATE, "ban");
		h->softcap = 4;
	}
	h->y = oc_y(c, LMD_SPACE_OUTPUTS, 1, 101);
	oc_emit(c, &op);
}

static const struct opcase head_cases[] = {
	{"f32", head, {LMD_DTYPE_F32, LMD_NORM_RMS}, .nmse = OC_CHAIN},
	{"q8_0, softcap, banned ids", head, {LMD_DTYPE_Q8_0, LMD_NORM_LAYER, 1}, OC_INT8,
	 .nmse = OC_CHAIN},
	{"q5_1 with adapters", head, {LMD_DTYPE_Q5_1, 0}, OC_LORA, .nmse = OC_CHAIN},
	{"q5_1 with adapters with a gain", head, {LMD_DTYPE_Q5_1, 0}, OC_LORA | OC_GAIN,
	 .nmse = OC_CHAIN},
};
SET(head, LMD_OP_HEAD);
