/* SPDX-License-Identifier: MIT
 *
 * EW: a straight-line program for each element. */
#include "backend/common/act.h"
#include "ops.h"
#include "backend/common/view.h"

/* Row of an input that a row of the program reads. */
static uint32_t input_row(const struct ref_run *r, const struct host_mem_view *in, uint32_t space,
			  uint32_t row)
{
	if (in->row_bytes == 0 || in->n_row == 1)
		return 0;
	return in->space == LMD_SPACE_SEQS && space != LMD_SPACE_SEQS
		       ? host_mem_seq_of(&r->host_mem, space, row)
		       : row;
}

static float step(const struct lmd_ew_ins *i, const float *reg)
{
	float a = reg[i->a], b = reg[i->b], c = reg[i->c];

	switch ((enum lmd_ew)i->op) {
	case LMD_EW_CONST:
		return i->imm;
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
		return fminf(a, b);
	case LMD_EW_MAX:
		return fmaxf(a, b);
	case LMD_EW_ABS:
		return fabsf(a);
	case LMD_EW_SIGN:
		return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : 0.0f;
	case LMD_EW_LT:
		return a < b ? 1.0f : 0.0f;
	case LMD_EW_LE:
		return a <= b ? 1.0f : 0.0f;
	case LMD_EW_EQ:
		return a == b ? 1.0f : 0.0f;
	case LMD_EW_SELECT:
		return a != 0.0f ? b : c;
	case LMD_EW_ROUND:
		return rintf(a);
	case LMD_EW_EXP:
		return expf(a);
	case LMD_EW_SQRT:
		return sqrtf(a);
	case LMD_EW_RSQRT:
		return 1.0f / sqrtf(a);
	case LMD_EW_SIN:
		return sinf(a);
	case LMD_EW_COS:
		return cosf(a);
	case LMD_EW_TANH:
		return tanhf(a);
	case LMD_EW_SIGMOID:
		return host_mem_sigmoid(a);
	case LMD_EW_SILU:
		return a * host_mem_sigmoid(a);
	case LMD_EW_SOFTPLUS:
		return host_mem_softplus(a);
	case LMD_EW_ERF:
		return erff(a);
	}
	return 0.0f;
}

static void run(const struct ref_run *r, const struct lmd_op *op, const struct host_mem_part *p)
{
	const struct lmd_op_ew *e = &op->u.ew;
	struct host_mem_view in[LMD_EW_MAX_IN], out[2];
	float reg[LMD_EW_MAX_REG] = {0};
	uint64_t lo, hi;

	for (uint32_t i = 0; i < e->n_in; i++)
		in[i] = host_mem_view(&r->host_mem, &e->in[i]);
	for (uint32_t i = 0; i < e->n_out; i++)
		out[i] = host_mem_view(&r->host_mem, &e->out[i]);
	host_mem_slice(p, (uint64_t)out[0].n_row * out[0].n_head, &lo, &hi);
	for (uint64_t x = lo; x < hi; x++) {
		uint32_t row = (uint32_t)(x / out[0].n_head), head = (uint32_t)(x % out[0].n_head);

		for (uint32_t c = 0; c < out[0].width; c++) {
			for (uint32_t i = 0; i < e->n_in; i++)
				reg[i] = host_mem_get(
					&in[i], input_row(r, &in[i], out[0].space, row),
					in[i].n_head > 1 ? head : 0, in[i].width > 1 ? c : 0);
			for (uint32_t i = 0; i < e->n_ins; i++)
				reg[e->ins[i].dst] = step(&e->ins[i], reg);
			for (uint32_t i = 0; i < e->n_out; i++) {
				if (out[i].i32)
					host_mem_put_i32(&out[i], row, head, c,
							 host_mem_float_to_i32(reg[e->out_reg[i]]));
				else
					host_mem_put(&out[i], row, head, c, reg[e->out_reg[i]]);
			}
		}
	}
}

const struct ref_op ref_op_ew = {
	.run = run,
};
