/* SPDX-License-Identifier: MIT
 *
 * EW, GATHER, REDUCE, SOFTMAX and CAST_COPY from their definitions. */
#include <math.h>

#include "plugins/backend/ref/naive_test.h"

/* ---- EW ---- */

static double instruction(const struct lmd_ew_ins *i, double a, double b, double c)
{
	switch ((enum lmd_ew)i->op) {
	case LMD_EW_CONST:
		return (double)i->imm;
	case LMD_EW_ADD:
		return a + b;
	case LMD_EW_SUB:
		return a - b;
	case LMD_EW_MUL:
		return a * b;
	case LMD_EW_DIV:
		return a / b;
	case LMD_EW_FMA:
		return a * b + c;
	case LMD_EW_MIN:
		return a < b ? a : b;
	case LMD_EW_MAX:
		return a > b ? a : b;
	case LMD_EW_ABS:
		return a < 0 ? -a : a;
	case LMD_EW_SIGN:
		return (a > 0) - (a < 0);
	case LMD_EW_LT:
		return a < b;
	case LMD_EW_LE:
		return a <= b;
	case LMD_EW_EQ:
		return a == b;
	case LMD_EW_SELECT:
		return a != 0 ? b : c;
	case LMD_EW_ROUND:
		return nearbyint(a);
	case LMD_EW_EXP:
		return exp(a);
	case LMD_EW_SQRT:
		return sqrt(a);
	case LMD_EW_RSQRT:
		return 1 / sqrt(a);
	case LMD_EW_SIN:
		return sin(a);
	case LMD_EW_COS:
		return cos(a);
	case LMD_EW_TANH:
		return tanh(a);
	case LMD_EW_SIGMOID:
		return 1 / (1 + exp(-a));
	case LMD_EW_SILU:
		return a / (1 + exp(-a));
	case LMD_EW_SOFTPLUS:
		return a > 20 ? a : log(1 + exp(a));
	case LMD_EW_ERF:
		return erf(a);
	}
	return NAN;
}

void naive_ew(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_ew *e = &op->u.ew;
	const struct lmd_operand *out = &e->out[0];

	for (uint32_t x = 0; x < rows_of(n, out) * cols(out); x++) {
		uint32_t row = x / cols(out), h = x % cols(out) / out->width, c = x % out->width;
		double reg[LMD_EW_MAX_REG] = {0};

		for (uint32_t i = 0; i < e->n_in; i++) {
			const struct lmd_operand *in = &e->in[i];
			uint32_t r = space_of(n, in) == LMD_SPACE_SEQS ? (uint32_t)n->s->seq_of[row]
								       : row;

			reg[i] = get(n, in, in->src == LMD_SRC_WEIGHT ? 0 : r,
				     in->n_head > 1 ? h : 0, in->width > 1 ? c : 0);
		}
		for (uint32_t i = 0; i < e->n_ins; i++)
			reg[e->ins[i].dst] = instruction(&e->ins[i], reg[e->ins[i].a],
							 reg[e->ins[i].b], reg[e->ins[i].c]);
		for (uint32_t i = 0; i < e->n_out; i++)
			put(n, &e->out[i], row, h, c, reg[e->out_reg[i]]);
	}
}

/* ---- GATHER ---- */

void naive_gather(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_gather *g = &op->u.gather;
	uint32_t width = cols(&g->x);

	for (uint32_t r = 0; r < rows_of(n, &g->y); r++) {
		for (uint32_t c = 0; c < width; c++) {
			double sum = 0;

			for (uint32_t j = 0; j < g->n_id; j++) {
				int64_t id = g->idx_kind == LMD_IDX_OUT_ROW  ? n->s->out_row[r]
					     : g->idx_kind == LMD_IDX_SEQ_OF ? n->s->seq_of[r]
					     : g->idx_kind == LMD_IDX_EXT
						     ? -1 - n->s->token[r]
						     : (int64_t)get_flat(n, &g->idx, r, j);
				double x = id < 0 ? 0 : get_flat(n, &g->x, (uint32_t)id, c);

				sum += x;
				if (!g->sum)
					put_flat(n, &g->y, r, j * width + c, x);
			}
			if (g->sum)
				put_flat(n, &g->y, r, c, sum);
		}
	}
}

/* ---- REDUCE ---- */

static double reduced(uint32_t kind, const double *v, uint32_t count)
{
	double sum = 0, max = v[0];

	for (uint32_t i = 0; i < count; i++) {
		sum += v[i];
		max = fmax(max, v[i]);
	}
	return kind == LMD_REDUCE_MEAN	  ? sum / count
	       : kind == LMD_REDUCE_SUM	  ? sum
	       : kind == LMD_REDUCE_MAX	  ? max
	       : kind == LMD_REDUCE_FIRST ? v[0]
					  : v[count - 1];
}

/* The j-th best column, found by counting the columns that come before it. */
static void order(struct naive *n, const struct lmd_op_reduce *o, uint32_t r, uint32_t h,
		  const double *v, uint32_t want)
{
	for (uint32_t c = 0; c < o->x.width; c++) {
		uint32_t before = 0;

		for (uint32_t d = 0; d < o->x.width; d++)
			before += v[d] > v[c] || (v[d] == v[c] && d < c);
		if (before >= want)
			continue;
		put(n, &o->y, r, h, before, c);
		if (o->y2.src)
			put(n, &o->y2, r, h, before, v[c]);
	}
}

void naive_reduce(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_reduce *o = &op->u.reduce;
	double v[512];

	for (uint32_t r = 0; r < rows_of(n, &o->y); r++) {
		for (uint32_t h = 0; h < o->x.n_head; h++) {
			uint32_t first = r * o->n, len = o->n;

			if (o->axis == LMD_AXIS_ROW) {
				for (uint32_t c = 0; c < o->x.width; c++)
					v[c] = get(n, &o->x, r, h, c);
				if (o->kind == LMD_REDUCE_ARGMAX || o->kind == LMD_REDUCE_TOP_K)
					order(n, o, r, h, v,
					      o->kind == LMD_REDUCE_TOP_K ? o->n : 1);
				else
					put(n, &o->y, r, h, 0, reduced(o->kind, v, o->x.width));
				continue;
			}
			if (o->axis == LMD_AXIS_SEQ)
				seq_rows(n, space_of(n, &o->x), r, &first, &len);
			for (uint32_t c = 0; c < o->x.width; c++) {
				for (uint32_t i = 0; i < len; i++)
					v[i] = get(n, &o->x, first + i, h, c);
				put(n, &o->y, r, h, c, reduced(o->kind, v, len));
			}
		}
	}
}

/* ---- SOFTMAX ---- */

void naive_softmax(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_op_softmax *o = &op->u.softmax;
	uint32_t rows = o->x.n_head, width = o->x.width;
	double m[64 * 64];

	for (uint32_t r = 0; r < rows_of(n, &o->y); r++) {
		for (uint32_t h = 0; h < rows; h++) {
			double sum = 0;

			for (uint32_t c = 0; c < width; c++)
				sum += exp((double)o->scale * get(n, &o->x, r, h, c));
			for (uint32_t c = 0; c < width; c++)
				m[h * width + c] =
					exp((double)o->scale * get(n, &o->x, r, h, c)) / sum +
					(o->sinkhorn ? (double)o->eps : 0);
		}
		/* Columns first, then rows and columns alternately. */
		for (uint32_t pass = 0; o->sinkhorn && pass < 2 * o->sinkhorn - 1; pass++) {
			uint32_t outer = pass % 2 ? rows : width, inner = pass % 2 ? width : rows;

			for (uint32_t a = 0; a < outer; a++) {
				double sum = (double)o->eps;

				for (uint32_t b = 0; b < inner; b++)
					sum += m[pass % 2 ? a * width + b : b * width + a];
				for (uint32_t b = 0; b < inner; b++)
					m[pass % 2 ? a * width + b : b * width + a] /= sum;
			}
		}
		for (uint32_t h = 0; h < rows; h++) {
			for (uint32_t c = 0; c < width; c++)
				put(n, &o->y, r, h, c, m[h * width + c]);
		}
	}
}

void naive_cast_copy(struct naive *n, const struct lmd_op *op)
{
	const struct lmd_operand *x = &op->u.cast_copy.x, *y = &op->u.cast_copy.y;

	for (uint32_t r = 0; r < rows_of(n, y); r++) {
		for (uint32_t h = 0; h < y->n_head; h++) {
			for (uint32_t c = 0; c < y->width; c++) {
				double v = get(n, x, r, h, c);

				put(n, y, r, h, c,
				    n->p->values[y->id].vtype == LMD_VTYPE_I32 ? trunc(v) : v);
			}
		}
	}
}
