/* SPDX-License-Identifier: MIT
 *
 * EW programs for the element-wise parts of fused ops: activations, soft caps, residuals.
 * Formulas: op.h. */
#include "core/plan/lower.h"

void prog_init(struct prog *g)
{
	lmi_op_init(&g->op, LMD_OP_EW);
	g->next = LMD_EW_MAX_IN;
	g->full = false;
}

uint8_t prog_in(struct prog *g, const struct lmd_opnd *o)
{
	struct lmd_op_ew *e = &g->op.u.ew;

	if (e->n_in == LMD_EW_MAX_IN) {
		g->full = true;
		return 0;
	}
	e->in[e->n_in] = *o;
	return (uint8_t)e->n_in++;
}

uint8_t prog_ins(struct prog *g, uint32_t op, uint8_t a, uint8_t b, uint8_t c)
{
	struct lmd_op_ew *e = &g->op.u.ew;

	if (e->n_ins == LMD_EW_MAX_INS || g->next == LMD_EW_MAX_REG) {
		g->full = true;
		return 0;
	}
	e->ins[e->n_ins++] =
		(struct lmd_ew_ins){.op = (uint8_t)op, .dst = g->next, .a = a, .b = b, .c = c};
	return g->next++;
}

uint8_t prog_const(struct prog *g, float v)
{
	uint8_t r = prog_ins(g, LMD_EW_CONST, 0, 0, 0);

	if (!g->full)
		g->op.u.ew.ins[g->op.u.ew.n_ins - 1].imm = v;
	return r;
}

void prog_out(struct prog *g, const struct lmd_opnd *o, uint8_t reg)
{
	struct lmd_op_ew *e = &g->op.u.ew;

	e->out[e->n_out] = *o;
	e->out_reg[e->n_out++] = reg;
}

void prog_store(struct prog *g, uint8_t v, const struct lmd_opnd *y, float a,
		const struct lmd_opnd *r_in, const struct lmd_opnd *r_out)
{
	uint8_t r;

	if (y->src)
		prog_out(g, y, v);
	if (!r_out->src)
		return;
	r = prog_in(g, r_in);
	if (a == 1)
		prog_out(g, r_out, prog_ins(g, LMD_EW_ADD, r, v, 0));
	else
		prog_out(g, r_out, prog_ins(g, LMD_EW_FMA, v, prog_const(g, a), r));
}

/* x * sigmoid(k*x) */
static uint8_t swish(struct prog *g, uint8_t x, float k)
{
	uint8_t kx = prog_ins(g, LMD_EW_MUL, x, prog_const(g, k), 0);

	return prog_ins(g, LMD_EW_MUL, x, prog_ins(g, LMD_EW_SIGMOID, kx, 0, 0), 0);
}

/* 0.5 x (1 + t) */
static uint8_t half_one_plus(struct prog *g, uint8_t x, uint8_t t)
{
	uint8_t half = prog_const(g, 0.5f);
	uint8_t hx = prog_ins(g, LMD_EW_MUL, half, x, 0);

	return prog_ins(g, LMD_EW_FMA, hx, t, hx);
}

static uint8_t gelu_tanh(struct prog *g, uint8_t x)
{
	uint8_t xx = prog_ins(g, LMD_EW_MUL, x, x, 0);
	uint8_t xxx = prog_ins(g, LMD_EW_MUL, xx, x, 0);
	uint8_t in = prog_ins(g, LMD_EW_FMA, xxx, prog_const(g, 0.044715f), x);
	uint8_t arg = prog_ins(g, LMD_EW_MUL, in, prog_const(g, 0.79788456080286535588f), 0);

	return half_one_plus(g, x, prog_ins(g, LMD_EW_TANH, arg, 0, 0));
}

static uint8_t gelu_erf(struct prog *g, uint8_t x)
{
	uint8_t arg = prog_ins(g, LMD_EW_MUL, x, prog_const(g, 0.70710678118654752440f), 0);

	return half_one_plus(g, x, prog_ins(g, LMD_EW_ERF, arg, 0, 0));
}

static uint8_t relu(struct prog *g, uint8_t x)
{
	return prog_ins(g, LMD_EW_MAX, x, prog_const(g, 0), 0);
}

/* The two branches differ in the coefficient of x*x or of expm1; beta*x is common to both. */
static uint8_t xielu(struct prog *g, const float *p, uint8_t x)
{
	uint8_t bx = prog_ins(g, LMD_EW_MUL, x, prog_const(g, p[2]), 0);
	uint8_t sq = prog_ins(g, LMD_EW_MUL, x, x, 0);
	uint8_t pos = prog_ins(g, LMD_EW_MUL, sq, prog_const(g, p[1]), 0);
	uint8_t m = prog_ins(g, LMD_EW_MIN, x, prog_const(g, p[3]), 0);
	uint8_t e = prog_ins(g, LMD_EW_EXP, m, 0, 0);
	uint8_t em1 = prog_ins(g, LMD_EW_SUB, e, prog_const(g, 1), 0);
	uint8_t d = prog_ins(g, LMD_EW_SUB, em1, x, 0);
	uint8_t neg = prog_ins(g, LMD_EW_MUL, d, prog_const(g, p[0]), 0);
	uint8_t is_pos = prog_ins(g, LMD_EW_LT, prog_const(g, 0), x, 0);

	return prog_ins(g, LMD_EW_ADD, prog_ins(g, LMD_EW_SELECT, is_pos, pos, neg), bx, 0);
}

static uint8_t clamp(struct prog *g, uint8_t v, float limit)
{
	uint8_t low = prog_ins(g, LMD_EW_MAX, v, prog_const(g, -limit), 0);

	return prog_ins(g, LMD_EW_MIN, low, prog_const(g, limit), 0);
}

/* beta * tanh(x / beta) */
static uint8_t soft_limit(struct prog *g, uint8_t x, float beta)
{
	uint8_t r = prog_const(g, beta);
	uint8_t t = prog_ins(g, LMD_EW_TANH, prog_ins(g, LMD_EW_DIV, x, r, 0), 0, 0);

	return prog_ins(g, LMD_EW_MUL, t, r, 0);
}

uint8_t prog_act(struct prog *g, uint32_t act, const float *p, uint8_t x, const uint8_t *b)
{
	uint8_t v = x, u = b ? *b : 0;

	switch ((enum lmd_act)act) {
	case LMD_ACT_NONE:
		break;
	case LMD_ACT_SILU:
		v = prog_ins(g, LMD_EW_SILU, x, 0, 0);
		break;
	case LMD_ACT_GELU:
		v = gelu_tanh(g, x);
		break;
	case LMD_ACT_GELU_ERF:
		v = gelu_erf(g, x);
		break;
	case LMD_ACT_GELU_QUICK:
		v = swish(g, x, 1.702f);
		break;
	case LMD_ACT_RELU:
		v = relu(g, x);
		break;
	case LMD_ACT_RELU2:
		v = relu(g, x);
		v = prog_ins(g, LMD_EW_MUL, v, v, 0);
		break;
	case LMD_ACT_SIGMOID:
		v = prog_ins(g, LMD_EW_SIGMOID, x, 0, 0);
		break;
	case LMD_ACT_SOFTPLUS:
		v = prog_ins(g, LMD_EW_SOFTPLUS, x, 0, 0);
		break;
	case LMD_ACT_TANH:
		v = prog_ins(g, LMD_EW_TANH, x, 0, 0);
		break;
	case LMD_ACT_XIELU:
		v = xielu(g, p, x);
		break;
	case LMD_ACT_OAI:
		v = swish(g, prog_ins(g, LMD_EW_MIN, x, prog_const(g, p[1]), 0), p[0]);
		if (b)
			u = prog_ins(g, LMD_EW_ADD, clamp(g, u, p[1]), prog_const(g, 1), 0);
		break;
	case LMD_ACT_SILU_CLAMP_IN:
		v = prog_ins(g, LMD_EW_MIN, x, prog_const(g, p[0]), 0);
		v = prog_ins(g, LMD_EW_SILU, v, 0, 0);
		if (b)
			u = clamp(g, u, p[0]);
		break;
	case LMD_ACT_SILU_CLAMP_OUT:
		v = prog_ins(g, LMD_EW_SILU, x, 0, 0);
		v = prog_ins(g, LMD_EW_MIN, v, prog_const(g, p[0]), 0);
		if (b)
			u = clamp(g, u, p[0]);
		break;
	case LMD_ACT_SITU:
		v = prog_ins(g, LMD_EW_MUL, soft_limit(g, x, p[0]),
			     prog_ins(g, LMD_EW_SIGMOID, x, 0, 0), 0);
		if (b && p[1] > 0)
			u = soft_limit(g, u, p[1]);
		break;
	case LMD_ACT_EXP:
		v = prog_ins(g, LMD_EW_EXP, x, 0, 0);
		break;
	}
	return b ? prog_ins(g, LMD_EW_MUL, v, u, 0) : v;
}

bool lower_glu(struct lower *l, const struct lmd_op *op)
{
	const struct lmd_op_glu *o = &op->u.glu;
	struct prog g;
	uint8_t a, b = 0;

	prog_init(&g);
	a = prog_in(&g, &o->a);
	if (o->b.src)
		b = prog_in(&g, &o->b);
	prog_out(&g, &o->y, prog_act(&g, o->act, o->p, a, o->b.src ? &b : NULL));
	if (g.full)
		return false;
	lower_emit(l, &g.op);
	return true;
}
