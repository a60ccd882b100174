/* SPDX-License-Identifier: MIT
 *
 * EW: a straight-line program for each element.  It is run instruction by instruction over spans
 * of neighbouring columns, so that each instruction is a short loop over arrays. */
#include <string.h>

#include "act.h"
#include "ops.h"
#include "backend/common/view.h"
#include "cpu.h"

/* Columns per span.  Loops have this constant length, however many columns are needed, so that the
 * compiler vectorises them. */
#define SPAN 64

typedef float span[SPAN];

static enum lmd_status plan(struct cpu_build *b, const struct lmd_op *op, struct lmd_error *err)
{
	(void)op;
	(void)err;
	host_mem_need(&b->host_mem.part_bytes, LMD_EW_MAX_REG, sizeof(span));
	return LMD_OK;
}

/* Row of an input that a row of the program reads. */
static uint32_t input_row(const struct cpu_run *r, const struct host_mem_view *in, uint32_t space,
			  uint32_t row)
{
	if (in->row_bytes == 0 || in->n_row == 1)
		return 0;
	return in->space == LMD_SPACE_SEQS && space != LMD_SPACE_SEQS
		       ? host_mem_seq_of(&r->host_mem, space, row)
		       : row;
}

/* Loads columns [c0, c0 + n) of (row, head), or copies of the one number that stands for all. */
static void load(const struct host_mem_view *in, uint32_t row, uint32_t head, uint32_t c0,
		 uint32_t n, float *to)
{
	if (in->width == 1) {
		float x = host_mem_get(in, row, head, 0);

		for (int i = 0; i < SPAN; i++)
			to[i] = x;
	} else if (!in->i32 && host_mem_whole(in, head)) {
		memcpy(to, host_mem_el(in, row, head, c0), n * sizeof(*to));
	} else {
		for (uint32_t i = 0; i < n; i++)
			to[i] = host_mem_get(in, row, head, c0 + i);
	}
}

static void store(const struct host_mem_view *out, uint32_t row, uint32_t head, uint32_t c0,
		  uint32_t n, const float *from)
{
	if (!out->i32 && host_mem_whole(out, head)) {
		memcpy(host_mem_el(out, row, head, c0), from, n * sizeof(*from));
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (out->i32)
			host_mem_put_i32(out, row, head, c0 + i, host_mem_float_to_i32(from[i]));
		else
			host_mem_put(out, row, head, c0 + i, from[i]);
	}
}

#define EACH(expr)                                                                                 \
	for (int i = 0; i < SPAN; i++)                                                             \
		y[i] = expr;                                                                       \
	break
/* Functions of libm are computed only for the columns that exist. */
#define SOME(expr)                                                                                 \
	for (uint32_t i = 0; i < n; i++)                                                           \
		y[i] = expr;                                                                       \
	break

static void step(const struct cpu_float *fl, const struct lmd_ew_ins *ins, span *reg, uint32_t n)
{
	const float *a = reg[ins->a], *b = reg[ins->b], *c = reg[ins->c];
	float *y = reg[ins->dst];

	switch ((enum lmd_ew)ins->op) {
	case LMD_EW_CONST:
		EACH(ins->imm);
	case LMD_EW_ADD:
		EACH(a[i] + b[i]);
	case LMD_EW_SUB:
		EACH(a[i] - b[i]);
	case LMD_EW_MUL:
		EACH(a[i] * b[i]);
	case LMD_EW_DIV:
		EACH(a[i] / b[i]);
	case LMD_EW_FMA:
		EACH(a[i] * b[i] + c[i]);
	case LMD_EW_MIN:
		SOME(fminf(a[i], b[i]));
	case LMD_EW_MAX:
		SOME(fmaxf(a[i], b[i]));
	case LMD_EW_ABS:
		EACH(fabsf(a[i]));
	case LMD_EW_SIGN:
		EACH(a[i] > 0.0f ? 1.0f : a[i] < 0.0f ? -1.0f : 0.0f);
	case LMD_EW_LT:
		EACH(a[i] < b[i] ? 1.0f : 0.0f);
	case LMD_EW_LE:
		EACH(a[i] <= b[i] ? 1.0f : 0.0f);
	case LMD_EW_EQ:
		EACH(a[i] == b[i] ? 1.0f : 0.0f);
	case LMD_EW_SELECT:
		EACH(a[i] != 0.0f ? b[i] : c[i]);
	case LMD_EW_ROUND:
		SOME(rintf(a[i]));
	case LMD_EW_EXP:
		SOME(expf(a[i]));
	case LMD_EW_SQRT:
		EACH(sqrtf(a[i]));
	case LMD_EW_RSQRT:
		EACH(1.0f / sqrtf(a[i]));
	case LMD_EW_SIN:
		SOME(sinf(a[i]));
	case LMD_EW_COS:
		SOME(cosf(a[i]));
	case LMD_EW_TANH:
		SOME(tanhf(a[i]));
	case LMD_EW_SIGMOID:
		SOME(host_mem_sigmoid(a[i]));
	case LMD_EW_SILU:
		fl->silu(a, NULL, y, n);
		break;
	case LMD_EW_SOFTPLUS:
		SOME(host_mem_softplus(a[i]));
	case LMD_EW_ERF:
		SOME(erff(a[i]));
	}
}

static bool little(const struct cpu_run *r, const struct cpu_node *n, uint32_t phase)
{
	const struct lmd_op_ew *e = &n->op->u.ew;
	struct host_mem_view y = host_mem_view(&r->host_mem, &e->out[0]);

	(void)phase;
	return (uint64_t)y.n_row * host_mem_cols(&y) * e->n_ins <= CPU_SMALL_PHASE / 2;
}

static void run(const struct cpu_run *r, const struct cpu_node *n, const struct cpu_part *p)
{
	const struct lmd_op_ew *e = &n->op->u.ew;
	span *reg = (span *)(void *)p->host_mem.scratch;
	struct host_mem_view in[LMD_EW_MAX_IN], out[2];
	uint32_t spans;
	uint64_t lo, hi;

	for (uint32_t i = 0; i < e->n_in; i++)
		in[i] = host_mem_view(&r->host_mem, &e->in[i]);
	for (uint32_t i = 0; i < e->n_out; i++)
		out[i] = host_mem_view(&r->host_mem, &e->out[i]);
	memset(reg, 0, LMD_EW_MAX_REG * sizeof(*reg));
	spans = (out[0].width + SPAN - 1) / SPAN;
	host_mem_slice(&p->host_mem, (uint64_t)out[0].n_row * out[0].n_head * spans, &lo, &hi);
	for (uint64_t x = lo; x < hi; x++) {
		uint32_t c0 = (uint32_t)(x % spans) * SPAN;
		uint32_t row = (uint32_t)(x / spans / out[0].n_head);
		uint32_t head = (uint32_t)(x / spans % out[0].n_head);
		uint32_t some = out[0].width - c0 < SPAN ? out[0].width - c0 : SPAN;

		for (uint32_t i = 0; i < e->n_in; i++)
			load(&in[i], input_row(r, &in[i], out[0].space, row),
			     in[i].n_head > 1 ? head : 0, c0, some, reg[i]);
		for (uint32_t i = 0; i < e->n_ins; i++)
			step(r->dev->fl, &e->ins[i], reg, some);
		for (uint32_t i = 0; i < e->n_out; i++)
			store(&out[i], row, head, c0, some, reg[e->out_reg[i]]);
	}
}

const struct cpu_op cpu_op_ew = {
	.plan = plan,
	.little = little,
	.run = run,
};
