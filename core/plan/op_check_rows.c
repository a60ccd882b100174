/* SPDX-License-Identifier: MIT
 *
 * Rules of the ops that move, mix and reduce rows: EW, GATHER, REDUCE, SOFTMAX, MIX, CAST_COPY,
 * collectives and PATCH. */
#include "core/plan/ew.h"
#include "core/plan/op_check.h"

/* ---- EW ---- */

static const struct {
	const char *name;
	uint32_t n_arg;
} instructions[] = {
	[LMD_EW_CONST] = {"const", 0}, [LMD_EW_ADD] = {"add", 2},
	[LMD_EW_SUB] = {"sub", 2},     [LMD_EW_MUL] = {"mul", 2},
	[LMD_EW_DIV] = {"div", 2},     [LMD_EW_FMA] = {"fma", 3},
	[LMD_EW_MIN] = {"min", 2},     [LMD_EW_MAX] = {"max", 2},
	[LMD_EW_ABS] = {"abs", 1},     [LMD_EW_SIGN] = {"sign", 1},
	[LMD_EW_LT] = {"lt", 2},       [LMD_EW_LE] = {"le", 2},
	[LMD_EW_EQ] = {"eq", 2},       [LMD_EW_SELECT] = {"select", 3},
	[LMD_EW_ROUND] = {"round", 1}, [LMD_EW_EXP] = {"exp", 1},
	[LMD_EW_SQRT] = {"sqrt", 1},   [LMD_EW_RSQRT] = {"rsqrt", 1},
	[LMD_EW_SIN] = {"sin", 1},     [LMD_EW_COS] = {"cos", 1},
	[LMD_EW_TANH] = {"tanh", 1},   [LMD_EW_SIGMOID] = {"sigmoid", 1},
	[LMD_EW_SILU] = {"silu", 1},   [LMD_EW_SOFTPLUS] = {"softplus", 1},
	[LMD_EW_ERF] = {"erf", 1},
};
_Static_assert(LMD_LEN(instructions) == LMD_N_EW, "an instruction without a name");

const char *lmi_plan_ew_info(uint32_t op, uint32_t *n_arg)
{
	if (op >= LMD_N_EW)
		return NULL;
	*n_arg = instructions[op].n_arg;
	return instructions[op].name;
}

/* An input may be narrower or have only one head or one row; repeated heads are written as one. */
static void ew_input(struct lmi_plan_shape *s, struct lmd_operand *in,
		     const struct lmd_operand *out)
{
	uint32_t space = lmi_plan_shape_space(s, in);

	if (in->n_head == 1 && out->n_head > 1 && in->width != 1 && in->width != out->width)
		lmi_plan_shape_heads(s, "in", in, out->n_head, out->width);
	if (in->n_head > 1 && out->n_head == 1 && in->width != out->width)
		lmi_plan_shape_heads(s, "in", in, 1, out->width);
	if ((in->n_head != 1 && in->n_head != out->n_head) ||
	    (in->width != 1 && in->width != out->width))
		lmi_plan_shape_fail(s, "in has %u heads of %u, out has %u of %u", in->n_head,
				    in->width, out->n_head, out->width);
	if (in->src == LMD_SRC_WEIGHT)
		return;
	if (in->fold > 1 ? s->op->space >= LMD_SPACE_X0 : space == s->op->space)
		return;
	if (space != LMD_SPACE_SEQS || s->op->space != LMD_SPACE_TOKENS)
		lmi_plan_shape_rows(s, "in", in, s->op->space);
}

static void ew_program(struct lmi_plan_shape *s, const struct lmd_op_ew *o)
{
	uint32_t written = (1u << o->n_in) - 1, n_arg;

	for (uint32_t i = 0; i < o->n_ins && s->st == LMD_OK; i++) {
		const struct lmd_ew_ins *ins = &o->ins[i];
		const uint8_t arg[] = {ins->a, ins->b, ins->c};

		if (!lmi_plan_ew_info(ins->op, &n_arg)) {
			lmi_plan_shape_fail(s, "instruction %u: code %u, expected 0..%d", i,
					    ins->op, LMD_N_EW - 1);
			return;
		}
		for (uint32_t j = 0; j < n_arg; j++)
			if (arg[j] >= LMD_EW_MAX_REG || !(written >> arg[j] & 1))
				lmi_plan_shape_fail(
					s, "instruction %u %s: register %u was not written", i,
					instructions[ins->op].name, arg[j]);
		if (ins->dst < LMD_EW_MAX_IN || ins->dst >= LMD_EW_MAX_REG) {
			lmi_plan_shape_fail(
				s, "instruction %u %s: writes register %u, free are %d..%d", i,
				instructions[ins->op].name, ins->dst, LMD_EW_MAX_IN,
				LMD_EW_MAX_REG - 1);
			return;
		}
		if (ins->op == LMD_EW_CONST && ins->imm != ins->imm)
			lmi_plan_shape_fail(s, "instruction %u const: not a number", i);
		written |= 1u << ins->dst;
	}
	for (uint32_t i = 0; i < o->n_out; i++)
		if (o->out_reg[i] >= LMD_EW_MAX_REG || !(written >> o->out_reg[i] & 1))
			lmi_plan_shape_fail(s, "out %u: register %u was not written", i,
					    o->out_reg[i]);
}

void lmi_plan_shape_ew(struct lmi_plan_shape *s)
{
	struct lmd_op_ew *o = &s->op->u.ew;

	lmi_plan_shape_range(s, "n_in", o->n_in, 0, LMD_EW_MAX_IN);
	lmi_plan_shape_range(s, "n_out", o->n_out, 1, LMD_LEN(o->out));
	lmi_plan_shape_range(s, "n_ins", o->n_ins, 0, LMD_EW_MAX_INS);
	if (s->st != LMD_OK)
		return;
	if (o->n_out > 1)
		lmi_plan_shape_like(s, "out[1]", &o->out[1], "out[0]", &o->out[0]);
	for (uint32_t i = 0; i < o->n_in && s->st == LMD_OK; i++)
		ew_input(s, &o->in[i], &o->out[0]);
	ew_program(s, o);
}

/* ---- GATHER, REDUCE ---- */

static void gather_index(struct lmi_plan_shape *s, struct lmd_op_gather *o)
{
	switch ((enum lmd_row_index)o->idx_kind) {
	case LMD_IDX_TOKEN:
		lmi_plan_shape_fail(s, "idx_kind is token, which is EMBED's");
		return;
	case LMD_IDX_OPERAND:
		lmi_plan_shape_cols(s, "idx", &o->idx, o->n_id);
		return;
	case LMD_IDX_OUT_ROW:
		lmi_plan_shape_in_space(s, LMD_SPACE_OUTPUTS, "out_row");
		lmi_plan_shape_rows(s, "x", &o->x, LMD_SPACE_TOKENS);
		break;
	case LMD_IDX_SEQ_OF:
		lmi_plan_shape_in_space(s, LMD_SPACE_TOKENS, "seq_of");
		lmi_plan_shape_rows(s, "x", &o->x, LMD_SPACE_SEQS);
		break;
	case LMD_IDX_EXT:
		lmi_plan_shape_in_space(s, LMD_SPACE_TOKENS, "rows named by tokens");
		if (o->x.src != LMD_SRC_INPUT || o->x.id != 0 ||
		    lmi_plan_shape_space(s, &o->x) != LMD_N_SPACE)
			lmi_plan_shape_fail(
				s, "x is source %u number %u, expected input 0 with its own rows",
				o->x.src, o->x.id);
		break;
	}
	lmi_plan_shape_absent(s, "idx", &o->idx, "idx_kind names the rows");
	lmi_plan_shape_eq(s, "n_id", o->n_id, "idx_kind names one row", 1);
}

void lmi_plan_shape_gather(struct lmi_plan_shape *s)
{
	struct lmd_op_gather *o = &s->op->u.gather;
	bool ids = lmi_plan_shape_vtype(s, &o->x) == LMD_VTYPE_I32;

	lmi_plan_shape_range(s, "n_id", o->n_id, 1, 1024);
	lmi_plan_shape_range(s, "sum", o->sum, 0, 1);
	gather_index(s, o);
	if (s->st != LMD_OK)
		return;
	lmi_plan_shape_cols(s, "y", &o->y, lmi_plan_operand_cols(&o->x) * (o->sum ? 1 : o->n_id));
	if (ids != (lmi_plan_shape_vtype(s, &o->y) == LMD_VTYPE_I32))
		lmi_plan_shape_fail(s, "x is %s, y is %s", ids ? "i32" : "float",
				    ids ? "float" : "i32");
}

static void reduce_spaces(struct lmi_plan_shape *s, const struct lmd_op_reduce *o)
{
	uint32_t from = lmi_plan_shape_space(s, &o->x);

	switch ((enum lmd_axis)o->axis) {
	case LMD_AXIS_SEQ:
		lmi_plan_shape_in_space(s, LMD_SPACE_SEQS, "one row for a sequence");
		if (from != LMD_SPACE_TOKENS && from < LMD_SPACE_X0)
			lmi_plan_shape_fail(
				s, "x has rows of space %u, expected tokens or an X space", from);
		return;
	case LMD_AXIS_BLOCK:
		lmi_plan_shape_range(s, "n", o->n, 1, 1u << 20);
		if (!lmi_plan_shape_may_fold(s, from))
			lmi_plan_shape_fail(
				s,
				"blocks of row space %u reduced to space %u, expected tokens or an X "
				"space, and another X space",
				from, s->op->space);
		return;
	case LMD_AXIS_ROW:
		lmi_plan_shape_rows(s, "x", &o->x, s->op->space);
		return;
	}
}

void lmi_plan_shape_reduce(struct lmi_plan_shape *s)
{
	struct lmd_op_reduce *o = &s->op->u.reduce;
	bool ids = o->kind == LMD_REDUCE_ARGMAX || o->kind == LMD_REDUCE_TOP_K;
	bool row = o->axis == LMD_AXIS_ROW;
	uint32_t n = o->kind == LMD_REDUCE_TOP_K ? o->n : 1;

	if (o->x.fold > 1)
		lmi_plan_shape_fail(s, "x has fold %u, expected none", o->x.fold);
	reduce_spaces(s, o);
	if (ids && !row)
		lmi_plan_shape_fail(s, "kind is %u, which needs axis ROW", o->kind);
	if (row && (o->kind == LMD_REDUCE_FIRST || o->kind == LMD_REDUCE_LAST))
		lmi_plan_shape_fail(s, "kind is %u, which does not allow axis ROW", o->kind);
	if (row)
		lmi_plan_shape_range(s, "n", n, 1, o->x.width);
	if (row)
		lmi_plan_shape_heads(s, "y", &o->y, o->x.n_head, n);
	else
		lmi_plan_shape_like(s, "y", &o->y, "x", &o->x);
	if (s->st == LMD_OK && ids != (lmi_plan_shape_vtype(s, &o->y) == LMD_VTYPE_I32))
		lmi_plan_shape_fail(s, "y is %s, expected %s", ids ? "float" : "i32",
				    ids ? "i32" : "float");
	if (!ids)
		lmi_plan_shape_absent(s, "y2", &o->y2, "this kind has one output");
	else if (o->y2.src)
		lmi_plan_shape_like(s, "y2", &o->y2, "y", &o->y);
}

/* ---- other ops ---- */

void lmi_plan_shape_softmax(struct lmi_plan_shape *s)
{
	struct lmd_op_softmax *o = &s->op->u.softmax;

	lmi_plan_shape_like(s, "y", &o->y, "x", &o->x);
	lmi_plan_shape_range(s, "sinkhorn", o->sinkhorn, 0, 1000);
}

void lmi_plan_shape_mix(struct lmi_plan_shape *s)
{
	struct lmd_op_mix *o = &s->op->u.mix;

	lmi_plan_shape_range(s, "heads of x", o->x.n_head, 1, 64);
	lmi_plan_shape_range(s, "heads of y", o->y.n_head, 1, 8);
	lmi_plan_shape_eq(s, "width of y", o->y.width, "width of x", o->x.width);
	lmi_plan_shape_range(s, "c_transposed", o->c_transposed, 0, 1);
	if (o->c.src)
		lmi_plan_shape_cols(s, "c", &o->c, (uint64_t)o->x.n_head * o->y.n_head);
	else
		lmi_plan_shape_eq(s, "heads of y", o->y.n_head, "heads of x, as c is the identity",
				  o->x.n_head);
	if (o->z.src)
		lmi_plan_shape_heads(s, "z", &o->z, 1, o->x.width);
	else
		lmi_plan_shape_absent(s, "d", &o->d, "there is no z");
	if (o->d.src)
		lmi_plan_shape_cols(s, "d", &o->d, o->y.n_head);
}

void lmi_plan_shape_cast_copy(struct lmi_plan_shape *s)
{
	struct lmd_op_cast_copy *o = &s->op->u.cast_copy;

	if (o->x.n_head > 1 && o->y.n_head == 1)
		lmi_plan_shape_heads(s, "y", &o->y, o->x.n_head, o->x.width);
	else
		lmi_plan_shape_heads(s, "x", &o->x, o->y.n_head, o->y.width);
}

void lmi_plan_shape_allreduce(struct lmi_plan_shape *s)
{
	struct lmd_op_collective *o = &s->op->u.collective;

	lmi_plan_shape_like(s, "y", &o->y, "x", &o->x);
}

void lmi_plan_shape_allgather(struct lmi_plan_shape *s)
{
	const struct lmd_op_collective *o = &s->op->u.collective;

	if (lmi_plan_operand_cols(&o->y) % lmi_plan_operand_cols(&o->x))
		lmi_plan_shape_fail(s, "y has %llu columns, not a multiple of the %llu of x",
				    (unsigned long long)lmi_plan_operand_cols(&o->y),
				    (unsigned long long)lmi_plan_operand_cols(&o->x));
}

void lmi_plan_shape_patch(struct lmi_plan_shape *s)
{
	struct lmd_op_patch *o = &s->op->u.patch;
	uint64_t window = 1;
	const struct lmd_weight_ref *w;

	lmi_plan_shape_range(s, "n_dim", o->n_dim, 1, 2);
	for (uint32_t i = 0; i < o->n_dim && s->st == LMD_OK; i++) {
		lmi_plan_shape_range(s, "kernel", o->kernel[i], 1, 4096);
		lmi_plan_shape_range(s, "stride", o->stride[i], 1, 4096);
		lmi_plan_shape_range(s, "pad", o->pad[i], 0, 4096);
		lmi_plan_shape_range(s, "dilation", o->dilation[i], 1, 4096);
		window *= o->kernel[i];
	}
	if (o->x.src == LMD_SRC_VALUE) {
		if (lmi_plan_shape_space(s, &o->x) < LMD_SPACE_X0 && o->n_dim == 2)
			lmi_plan_shape_fail(s, "x has rows of space %u, a map needs an X space",
					    lmi_plan_shape_space(s, &o->x));
	} else if (o->x.src == LMD_SRC_INPUT) {
		lmi_plan_shape_range(s, "x_space", o->x_space, LMD_SPACE_X0,
				     LMD_SPACE_X0 + s->p->n_x - 1);
	} else {
		lmi_plan_shape_fail(s, "x is source %u, expected a value or an input", o->x.src);
	}
	if (o->x.fold > 1)
		lmi_plan_shape_fail(s, "x has fold %u, expected none", o->x.fold);
	w = lmi_plan_shape_weight(s, "w", o->w, 1, 0, window * lmi_plan_operand_cols(&o->x));
	if (w)
		lmi_plan_shape_cols(s, "y", &o->y, w->n);
}
