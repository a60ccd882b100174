/* SPDX-License-Identifier: MIT
 *
 * Cases of the ops that move, mix and reduce rows: EW, GATHER, REDUCE, SOFTMAX, MIX, CAST_COPY, BMM
 * and PATCH. */
#include <math.h>

#include "core/conformance/opcase_priv.h"

#define T  LMD_SPACE_TOKENS
#define X0 LMD_SPACE_X0
#define X1 (LMD_SPACE_X0 + 1)
#define SET(op_, code)                                                                             \
	const struct opcase_set opcase_##op_ = {code, op_##_cases, LMD_LEN(op_##_cases)}

/* ---- EW ---- */

static void ins(struct lmd_op_ew *e, uint8_t op, uint8_t dst, uint8_t a, uint8_t b, uint8_t r)
{
	e->ins[e->n_ins++] = (struct lmd_ew_ins){.op = op, .dst = dst, .a = a, .b = b, .c = r};
}

static void constant(struct lmd_op_ew *e, uint8_t dst, float x)
{
	e->ins[e->n_ins++] = (struct lmd_ew_ins){.op = LMD_EW_CONST, .dst = dst, .imm = x};
}

/* Runs every instruction once, on numbers for which it is defined. */
static void ew_all(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_EW);
	struct lmd_op_ew *e = &op.u.ew;
	uint32_t heads = (uint32_t)v[0], width = 17;

	e->n_in = 3;
	e->in[0] = oc_x(c, T, heads, width);
	e->in[1] = oc_x(c, T, heads, width);
	e->in[2] = oc_x(c, T, heads, width);
	switch (v[1]) {
	case 0:
		ins(e, LMD_EW_ADD, 8, 0, 1, 0);
		ins(e, LMD_EW_SUB, 9, 8, 2, 0);
		ins(e, LMD_EW_MUL, 10, 9, 0, 0);
		ins(e, LMD_EW_ABS, 11, 1, 0, 0);
		constant(e, 12, 0.5f);
		ins(e, LMD_EW_ADD, 11, 11, 12, 0);
		ins(e, LMD_EW_DIV, 13, 10, 11, 0);
		ins(e, LMD_EW_FMA, 14, 13, 1, 2);
		ins(e, LMD_EW_MIN, 15, 14, 0, 0);
		ins(e, LMD_EW_MAX, 16, 15, 1, 0);
		ins(e, LMD_EW_SIGN, 17, 2, 0, 0);
		ins(e, LMD_EW_LT, 18, 0, 1, 0);
		ins(e, LMD_EW_LE, 19, 1, 2, 0);
		ins(e, LMD_EW_EQ, 20, 18, 19, 0);
		ins(e, LMD_EW_SELECT, 21, 20, 16, 17);
		break;
	default:
		ins(e, LMD_EW_EXP, 8, 0, 0, 0);
		ins(e, LMD_EW_SQRT, 9, 8, 0, 0);
		ins(e, LMD_EW_RSQRT, 10, 8, 0, 0);
		ins(e, LMD_EW_SIN, 11, 1, 0, 0);
		ins(e, LMD_EW_COS, 12, 2, 0, 0);
		ins(e, LMD_EW_TANH, 13, 1, 0, 0);
		ins(e, LMD_EW_SIGMOID, 14, 2, 0, 0);
		ins(e, LMD_EW_SILU, 15, 0, 0, 0);
		ins(e, LMD_EW_SOFTPLUS, 16, 1, 0, 0);
		ins(e, LMD_EW_ERF, 17, 2, 0, 0);
		for (uint8_t r = 9; r < 17; r++)
			ins(e, LMD_EW_ADD, 17, 17, r, 0);
		ins(e, LMD_EW_ADD, 21, 17, 12, 0);
		break;
	}
	e->n_out = 2;
	e->out[0] = oc_y(c, T, heads, width);
	e->out[1] = oc_y(c, T, heads, width);
	e->out_reg[0] = 21;
	e->out_reg[1] = 9;
	oc_emit(c, &op);
}

/* Inputs with one row, one column, one head, over sequences, of integers, and row inputs. */
static void ew_broadcast(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_EW);
	struct lmd_op_ew *e = &op.u.ew;

	(void)v;
	e->n_in = 7;
	e->in[0] = oc_x(c, T, 3, 9);
	e->in[1] = oc_vector(c, 9, 1, 0.5);
	e->in[2] = oc_x(c, T, 3, 1);
	e->in[3] = oc_ids(c, T, 1, -3, 3);
	e->in[4] = oc_x(c, LMD_SPACE_SEQS, 1, 9);
	e->in[5] = (struct lmd_operand){
		.src = LMD_SRC_ROW_IN, .id = 1, .n_head = 3, .head_stride = 1, .width = 1};
	e->in[6] = oc_in(c, T, 1, 0, 1);
	ins(e, LMD_EW_FMA, 8, 0, 1, 2);
	ins(e, LMD_EW_ADD, 9, 8, 3, 0);
	ins(e, LMD_EW_FMA, 10, 9, 4, 5);
	ins(e, LMD_EW_MUL, 11, 10, 6, 0);
	e->n_out = 1;
	e->out[0] = oc_y(c, T, 3, 9);
	e->out_reg[0] = 11;
	oc_emit(c, &op);
}

/* Ties to even, over a folded X space. */
static void ew_fold(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_EW);
	struct lmd_op_ew *e = &op.u.ew;

	(void)v;
	oc_map(c, 0, 4, 6, 2);
	oc_map(c, 1, 2, 6, 1);
	e->n_in = 1;
	e->in[0] = oc_x_like(c, X0, 1, 10, 0, 3);
	e->in[0].fold = 2;
	e->in[0].col0 = 5;
	e->in[0].width = 12;
	constant(e, 8, 2);
	ins(e, LMD_EW_MUL, 9, 0, 8, 0);
	ins(e, LMD_EW_ROUND, 10, 9, 0, 0);
	ins(e, LMD_EW_DIV, 11, 10, 8, 0);
	ins(e, LMD_EW_ROUND, 12, 11, 0, 0);
	e->n_out = 1;
	e->out[0] = oc_y(c, X1, 1, 12);
	e->out_reg[0] = 12;
	oc_emit(c, &op);
}

/* A program without inputs. */
static void ew_constant(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_EW);
	struct lmd_op_ew *e = &op.u.ew;

	(void)v;
	constant(e, 8, 0);
	constant(e, 9, -0.75f);
	e->n_out = 2;
	e->out[0] = oc_y(c, T, 1, 19);
	e->out[1] = oc_y(c, T, 1, 19);
	e->out_reg[0] = 8;
	e->out_reg[1] = 9;
	oc_emit(c, &op);
}

static const struct opcase ew_cases[] = {
	{"arithmetic", ew_all, {1, 0}, .nmse = OC_ELEM},
	{"functions", ew_all, {1, 1}, .nmse = OC_ELEM},
	{"functions of heads", ew_all, {4, 1}, .nmse = OC_ELEM},
	{"broadcasts", ew_broadcast, {0}, .nmse = OC_ELEM},
	{"constants alone", ew_constant, {0}, .nmse = OC_ELEM},
	{"folded rows, rounding", ew_fold, {0}, OC_ENCODE, .nmse = OC_ELEM},
};
SET(ew, LMD_OP_EW);

/* ---- GATHER: idx kind, n_id, sum, integers ---- */

static void gather(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_GATHER);
	struct lmd_op_gather *g = &op.u.gather;
	uint32_t n = (uint32_t)v[1], to = v[0] == LMD_IDX_OUT_ROW ? LMD_SPACE_OUTPUTS : T;
	uint32_t from = v[0] == LMD_IDX_SEQ_OF ? LMD_SPACE_SEQS : T, width = 7 * (v[2] ? 1 : n);

	g->idx_kind = (uint32_t)v[0];
	g->n_id = n;
	g->sum = (uint32_t)v[2];
	if (v[0] == LMD_IDX_EXT)
		g->x = (struct lmd_operand){.src = LMD_SRC_INPUT,
					    .id = 0,
					    .col0 = 2,
					    .n_head = 1,
					    .head_stride = 7,
					    .width = 7};
	else
		g->x = v[3] ? oc_ids(c, from, 7, -50, 50) : oc_x(c, from, 1, 7);
	if (v[0] == LMD_IDX_OPERAND)
		g->idx = n == 2 ? (struct lmd_operand){.src = LMD_SRC_ROW_IN,
						       .id = 0,
						       .n_head = 1,
						       .head_stride = 2,
						       .width = 2}
				: oc_ids(c, to, n, -1, 0);
	g->y = v[3] ? oc_y_ids(c, to, 1, width) : oc_y(c, to, 1, width);
	oc_emit(c, &op);
}

static const struct opcase gather_cases[] = {
	{"output rows", gather, {LMD_IDX_OUT_ROW, 1}, .nmse = OC_EXACT},
	{"rows of sequences", gather, {LMD_IDX_SEQ_OF, 1}, .nmse = OC_EXACT},
	{"rows named by tokens", gather, {LMD_IDX_EXT, 1}, .nmse = OC_EXACT},
	{"row input, two side by side", gather, {LMD_IDX_OPERAND, 2}, .nmse = OC_EXACT},
	{"row input, two summed", gather, {LMD_IDX_OPERAND, 2, 1}, .nmse = OC_ELEM},
	{"integers", gather, {LMD_IDX_OPERAND, 2, 0, 1}, .nmse = OC_EXACT},
	{"three ids of an operand", gather, {LMD_IDX_OPERAND, 3}, .nmse = OC_EXACT},
};
SET(gather, LMD_OP_GATHER);

/* ---- REDUCE: kind, axis, n, heads ---- */

static void reduce(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_REDUCE);
	struct lmd_op_reduce *r = &op.u.reduce;
	uint32_t heads = v[3] ? (uint32_t)v[3] : 1, width = 23;
	bool ids = v[0] == LMD_REDUCE_ARGMAX || v[0] == LMD_REDUCE_TOP_K;
	uint32_t n = v[0] == LMD_REDUCE_TOP_K ? (uint32_t)v[2] : 1;

	r->kind = (uint32_t)v[0];
	r->axis = (uint32_t)v[1];
	r->n = (uint32_t)v[2];
	if (v[1] == LMD_AXIS_ROW) {
		r->x = oc_x(c, T, heads, width);
		r->y = ids ? oc_y_ids(c, T, heads, n) : oc_y(c, T, heads, 1);
		if (ids)
			r->y2 = oc_y(c, T, heads, n);
	} else if (v[1] == LMD_AXIS_SEQ) {
		r->x = oc_x(c, T, heads, width);
		r->y = oc_y(c, LMD_SPACE_SEQS, heads, width);
	} else {
		oc_map(c, 0, 2, 6, 0);
		oc_map(c, 1, 1, 12 / r->n, 0);
		r->x = oc_x(c, X0, heads, width);
		r->y = oc_y(c, X1, heads, width);
	}
	oc_emit(c, &op);
}

static const struct opcase reduce_cases[] = {
	{"mean of sequences", reduce, {LMD_REDUCE_MEAN, LMD_AXIS_SEQ}, .nmse = OC_SUM},
	{"sum of sequences", reduce, {LMD_REDUCE_SUM, LMD_AXIS_SEQ, 0, 2}, .nmse = OC_SUM},
	{"max of sequences", reduce, {LMD_REDUCE_MAX, LMD_AXIS_SEQ}, .nmse = OC_EXACT},
	{"first of sequences", reduce, {LMD_REDUCE_FIRST, LMD_AXIS_SEQ}, .nmse = OC_EXACT},
	{"last of sequences", reduce, {LMD_REDUCE_LAST, LMD_AXIS_SEQ}, .nmse = OC_EXACT},
	{"mean of blocks", reduce, {LMD_REDUCE_MEAN, LMD_AXIS_BLOCK, 4}, OC_ENCODE, .nmse = OC_SUM},
	{"last of blocks", reduce, {LMD_REDUCE_LAST, LMD_AXIS_BLOCK, 3, 2}, OC_ENCODE,
	 .nmse = OC_EXACT},
	{"sum of rows", reduce, {LMD_REDUCE_SUM, LMD_AXIS_ROW, 0, 3}, .nmse = OC_SUM},
	{"mean of rows", reduce, {LMD_REDUCE_MEAN, LMD_AXIS_ROW}, .nmse = OC_SUM},
	{"max of rows", reduce, {LMD_REDUCE_MAX, LMD_AXIS_ROW}, .nmse = OC_EXACT},
	{"argmax", reduce, {LMD_REDUCE_ARGMAX, LMD_AXIS_ROW, 0, 2}, .nmse = OC_EXACT},
	{"best five", reduce, {LMD_REDUCE_TOP_K, LMD_AXIS_ROW, 5}, .nmse = OC_EXACT},
};
SET(reduce, LMD_OP_REDUCE);

/* ---- SOFTMAX: heads, width, sinkhorn ---- */

static void softmax(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_SOFTMAX);
	struct lmd_op_softmax *s = &op.u.softmax;

	s->x = oc_x_like(c, T, (uint32_t)v[0], (uint32_t)v[1], 0, 2);
	s->scale = 0.7f;
	s->sinkhorn = (uint32_t)v[2];
	s->eps = 1e-6f;
	s->y = oc_y(c, T, (uint32_t)v[0], (uint32_t)v[1]);
	oc_emit(c, &op);
}

static const struct opcase softmax_cases[] = {
	{"rows", softmax, {1, 65}, .nmse = OC_SUM},
	{"heads", softmax, {5, 8}, .nmse = OC_SUM},
	{"sinkhorn once", softmax, {4, 4, 1}, .nmse = OC_SUM},
	{"sinkhorn, 20 rounds", softmax, {4, 4, 20}, .nmse = OC_CHAIN},
};
SET(softmax, LMD_OP_SOFTMAX);

/* ---- MIX: heads in, heads out, c (0 identity, 1 value, 2 transposed, 3 weight), z, d ---- */

static void mix(struct oc *c, const int *v)
{
	uint32_t n_in = (uint32_t)v[0], n_out = (uint32_t)v[1];
	struct lmd_op op = oc_op(LMD_OP_MIX);
	struct lmd_op_mix *m = &op.u.mix;

	m->x = oc_x(c, T, n_in, 13);
	if (v[2] == 3)
		m->c = oc_vector(c, n_in * n_out, 0, 0.5);
	else if (v[2] == 2)
		m->c = oc_x(c, T, n_in, n_out);
	else if (v[2])
		m->c = oc_x(c, T, n_out, n_in);
	m->c_transposed = v[2] == 2;
	if (v[3])
		m->z = oc_x(c, T, 1, 13);
	if (v[4])
		m->d = oc_x(c, T, 1, n_out);
	m->y = oc_y(c, T, n_out, 13);
	oc_emit(c, &op);
}

static const struct opcase mix_cases[] = {
	{"four to four", mix, {4, 4, 1, 1, 1}, .nmse = OC_SUM},
	{"transposed, two to three", mix, {2, 3, 2, 1, 0}, .nmse = OC_SUM},
	{"identity and z", mix, {4, 4, 0, 1, 1}, .nmse = OC_SUM},
	{"a weight, 60 to one", mix, {60, 1, 3}, .nmse = OC_SUM},
	{"experts to one", mix, {6, 1, 1}, .nmse = OC_SUM},
};
SET(mix, LMD_OP_MIX);

/* ---- CAST_COPY: heads, integers in, integers out ---- */

static void cast_copy(struct oc *c, const int *v)
{
	uint32_t heads = (uint32_t)v[0];
	struct lmd_op op = oc_op(LMD_OP_CAST_COPY);

	op.u.cast_copy.x =
		v[1] ? oc_ids(c, T, 7 * heads, -1000, 1000) : oc_x_like(c, T, heads, 7, 0, 20);
	op.u.cast_copy.y = v[2] ? oc_y_ids(c, T, heads, 7) : oc_y(c, T, heads, 7);
	oc_emit(c, &op);
}

/* One head repeated; rows folded. */
static void copy_fold(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_CAST_COPY);

	oc_map(c, 0, 3, 4, 0);
	oc_map(c, 1, 3, 2, 0);
	op.u.cast_copy.x = oc_x(c, v[0] ? T : X0, 1, 9);
	if (v[0]) {
		op.u.cast_copy.x.n_head = 4;
		op.u.cast_copy.x.head_stride = 0;
		op.u.cast_copy.y = oc_y(c, T, 4, 9);
	} else {
		op.u.cast_copy.x.fold = 2;
		op.u.cast_copy.x.width = 15;
		op.u.cast_copy.y = oc_y(c, X1, 1, 15);
	}
	oc_emit(c, &op);
}

static const struct opcase cast_copy_cases[] = {
	{"floats", cast_copy, {1}, .nmse = OC_EXACT},
	{"floats of heads", cast_copy, {3}, .nmse = OC_EXACT},
	{"integers", cast_copy, {1, 1, 1}, .nmse = OC_EXACT},
	{"integers to floats", cast_copy, {2, 1, 0}, .nmse = OC_EXACT},
	{"floats to integers", cast_copy, {1, 0, 1}, .nmse = OC_EXACT},
	{"a head repeated", copy_fold, {1}, .nmse = OC_EXACT},
	{"folded rows", copy_fold, {0}, OC_ENCODE, .nmse = OC_EXACT},
};
SET(cast_copy, LMD_OP_CAST_COPY);

/* ---- BMM: dtype, K, N, source of the weight (1 heads of a tensor, 2 transposed) ---- */

static void bmm(struct oc *c, const int *v)
{
	const struct oc_w w = {
		.dtype = (uint32_t)v[0],
		.n_stack = 3,
		.n = (uint32_t)v[2],
		.k = (uint32_t)v[1],
		.n_head = v[3] ? 3 : 0,
		.head_rows = v[3] ? 50 : 0,
		.transform = v[3] == 2 ? LMD_TRANSFORM_HEAD_TRANSPOSE : 0,
	};
	struct lmd_op op = oc_op(LMD_OP_BMM);

	op.u.bmm.x = oc_x(c, T, 3, w.k);
	op.u.bmm.w = oc_weight(c, &w);
	op.u.bmm.y = oc_y(c, T, 3, w.n);
	oc_emit(c, &op);
}

static const struct opcase bmm_cases[] = {
	{"f32", bmm, {LMD_DTYPE_F32, 19, 11}, .nmse = OC_SUM},
	{"q8_0", bmm, {LMD_DTYPE_Q8_0, 64, 11}, .nmse = OC_SUM},
	{"f16, part of the rows of heads", bmm, {LMD_DTYPE_F16, 24, 20, 1}, .nmse = OC_SUM},
	{"q4_0, transposed heads", bmm, {LMD_DTYPE_Q4_0, 20, 64, 2}, .nmse = OC_SUM},
};
SET(bmm, LMD_OP_BMM);

/* ---- PATCH: dims, kernel, stride, pad, dilation, dtype, input ---- */

static uint32_t windows(uint32_t n, const int *v)
{
	return (n + 2 * (uint32_t)v[3] - (uint32_t)v[4] * ((uint32_t)v[1] - 1) - 1) /
		       (uint32_t)v[2] +
	       1;
}

static void patch(struct oc *c, const int *v)
{
	struct lmd_op op = oc_op(LMD_OP_PATCH);
	struct lmd_op_patch *p = &op.u.patch;
	uint32_t h = v[0] == 2 ? 12 : 1, w = v[0] == 2 ? 8 : 32, cols = v[5] ? 8 : 3;
	uint32_t area = (uint32_t)(v[0] == 2 ? v[1] * v[1] : v[1]);
	const struct oc_w weight = {
		.dtype = (uint32_t)v[5],
		.n = 10,
		.k = cols * area,
		.bias = true,
	};

	oc_map(c, 0, h, w, 0);
	oc_map(c, 1, v[0] == 2 ? windows(h, v) : 1, windows(w, v), 0);
	p->x = v[6] ? oc_in(c, X0, cols, 0, 1) : oc_x(c, X0, 1, cols);
	p->x_space = X0;
	p->w = oc_weight(c, &weight);
	p->n_dim = (uint32_t)v[0];
	for (int i = 0; i < v[0]; i++) {
		p->kernel[i] = (uint32_t)v[1];
		p->stride[i] = (uint32_t)v[2];
		p->pad[i] = (uint32_t)v[3];
		p->dilation[i] = (uint32_t)v[4];
	}
	p->y = oc_y(c, X1, 1, 10);
	oc_emit(c, &op);
}

static const struct opcase patch_cases[] = {
	{"image", patch, {2, 4, 4, 0, 1, LMD_DTYPE_F32, 1}, OC_ENCODE, .nmse = OC_SUM},
	{"map, f16, padded", patch, {2, 3, 2, 1, 1, LMD_DTYPE_F16, 0}, OC_ENCODE, .nmse = OC_SUM},
	{"sequence, dilated", patch, {1, 3, 1, 2, 2, LMD_DTYPE_F32, 0}, OC_ENCODE, .nmse = OC_SUM},
	{"sequence, strided, q8_0", patch, {1, 4, 2, 1, 1, LMD_DTYPE_Q8_0, 1}, OC_ENCODE,
	 .nmse = OC_SUM},
};
SET(patch, LMD_OP_PATCH);
