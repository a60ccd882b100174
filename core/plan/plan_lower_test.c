/* SPDX-License-Identifier: MIT
 *
 * Decompositions: their EW programs compute the formulas of op.h, and only simple ops remain. */
#include <math.h>

#include "core/plan/lower.h"
#include "core/plan/plan_test.h"

/* ---- activations as programs ---- */

static float ew_step(const struct lmd_ew_ins *i, const float *r)
{
	const float a = r[i->a], b = r[i->b], c = r[i->c];

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
		return (float)((a > 0) - (a < 0));
	case LMD_EW_LT:
		return a < b;
	case LMD_EW_LE:
		return a <= b;
	case LMD_EW_EQ:
		return a == b;
	case LMD_EW_SELECT:
		return a != 0 ? b : c;
	case LMD_EW_ROUND:
		return rintf(a);
	case LMD_EW_EXP:
		return expf(a);
	case LMD_EW_SQRT:
		return sqrtf(a);
	case LMD_EW_RSQRT:
		return 1 / sqrtf(a);
	case LMD_EW_SIN:
		return sinf(a);
	case LMD_EW_COS:
		return cosf(a);
	case LMD_EW_TANH:
		return tanhf(a);
	case LMD_EW_SIGMOID:
		return 1 / (1 + expf(-a));
	case LMD_EW_SILU:
		return a / (1 + expf(-a));
	case LMD_EW_SOFTPLUS:
		return a > 20 ? a : log1pf(expf(a));
	case LMD_EW_ERF:
		return erff(a);
	}
	return NAN;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double clamp(double v, double l)
{
	return fmax(-l, fmin(l, v));
}

/* The formulas of op.h in double; b is 1 if there is none. */
static double activation(uint32_t act, const float *p, double x, double b, bool has_b)
{
	switch ((enum lmd_act)act) {
	case LMD_ACT_NONE:
		return x * b;
	case LMD_ACT_SILU:
		return x * sigmoid(x) * b;
	case LMD_ACT_GELU:
		return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) * b;
	case LMD_ACT_GELU_ERF:
		return 0.5 * x * (1 + erf(x / sqrt(2))) * b;
	case LMD_ACT_GELU_QUICK:
		return x * sigmoid(1.702 * x) * b;
	case LMD_ACT_RELU:
		return fmax(x, 0) * b;
	case LMD_ACT_RELU2:
		return fmax(x, 0) * fmax(x, 0) * b;
	case LMD_ACT_SIGMOID:
		return sigmoid(x) * b;
	case LMD_ACT_SOFTPLUS:
		return (x > 20 ? x : log(1 + exp(x))) * b;
	case LMD_ACT_TANH:
		return tanh(x) * b;
	case LMD_ACT_XIELU:
		return (x > 0 ? (double)p[1] * x * x + (double)p[2] * x
			      : (expm1(fmin(x, (double)p[3])) - x) * (double)p[0] +
					(double)p[2] * x) *
		       b;
	case LMD_ACT_OAI: {
		double g = fmin(x, (double)p[1]), u = has_b ? clamp(b, (double)p[1]) + 1 : 1;

		return g * sigmoid((double)p[0] * g) * u;
	}
	case LMD_ACT_SILU_CLAMP_IN: {
		double g = fmin(x, (double)p[0]);

		return g * sigmoid(g) * (has_b ? clamp(b, (double)p[0]) : 1);
	}
	case LMD_ACT_SILU_CLAMP_OUT:
		return fmin(x * sigmoid(x), (double)p[0]) * (has_b ? clamp(b, (double)p[0]) : 1);
	case LMD_ACT_SITU: {
		double u = (double)p[0] * tanh(x / (double)p[0]) * sigmoid(x);
		double v = has_b && p[1] > 0 ? (double)p[1] * tanh(b / (double)p[1]) : b;

		return u * v;
	}
	case LMD_ACT_EXP:
		return exp(x) * b;
	}
	return NAN;
}

START_TEST(activations)
{
	static const float params[LMD_N_ACT][LMD_N_ACT_PARAM] = {
		[LMD_ACT_XIELU] = {0.8f, 0.6f, 0.5f, -1e-6f},
		[LMD_ACT_OAI] = {1.702f, 1.5f},
		[LMD_ACT_SILU_CLAMP_IN] = {1.25f},
		[LMD_ACT_SILU_CLAMP_OUT] = {1.25f},
		[LMD_ACT_SITU] = {2, 3},
	};
	const bool has_b = _i % 2;
	const uint32_t act = (uint32_t)_i / 2;
	const struct lmd_opnd opnd = {.src = LMD_SRC_VALUE, .n_head = 1, .width = 1};
	struct prog g;
	uint8_t x, b = 0, y;

	prog_init(&g);
	x = prog_in(&g, &opnd);
	if (has_b)
		b = prog_in(&g, &opnd);
	y = prog_act(&g, act, params[act], x, has_b ? &b : NULL);
	ck_assert(!g.full);
	for (float v = -4; v <= 4; v += 0.37f) {
		float r[LMD_EW_MAX_REG] = {v, -1.75f};
		double want = activation(act, params[act], (double)v, has_b ? -1.75 : 1, has_b);

		for (uint32_t i = 0; i < g.op.u.ew.n_ins; i++)
			r[g.op.u.ew.ins[i].dst] = ew_step(&g.op.u.ew.ins[i], r);
		ck_assert_msg(fabs((double)r[y] - want) <= 4e-6 * (1 + fabs(want)),
			      "activation %u at %g: %g, expected %g", act, (double)v, (double)r[y],
			      want);
	}
}
END_TEST

/* ---- whole plans ---- */

static uint32_t n_ops(const struct lmi_plan *p, uint32_t code)
{
	const struct lmd_plan *v = lmi_plan_view(p);
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_op; i++)
		n += v->ops[i].code == code;
	return n;
}

START_TEST(everything_is_decomposed)
{
	struct lmd_error err = {0};
	struct fx fx;
	struct lmi_plan *p = plan_of_all_ops(&fx);
	const struct lmd_plan *v;

	ck_assert_msg(lmi_plan_lower_all(p, &err) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n_ops(p, LMD_OP_FFN), 0);
	ck_assert_uint_eq(n_ops(p, LMD_OP_MOE_FFN), 0);
	ck_assert_uint_eq(n_ops(p, LMD_OP_HEAD), 0);
	ck_assert_uint_eq(n_ops(p, LMD_OP_GLU), 0);
	v = lmi_plan_view(p);
	for (uint32_t i = 0; i < v->n_op; i++) {
		const struct lmd_op *op = &v->ops[i];

		if (op->code == LMD_OP_LINEAR) {
			const struct lmd_op_linear *o = &op->u.linear;

			ck_assert_uint_eq(o->n_w, 1);
			ck_assert_uint_eq(o->pro.kind, LMD_NORM_NONE);
			ck_assert(!o->r_out[0].src && !o->act && o->softcap == 0 &&
				  o->clamp_hi == 0);
		} else if (op->code == LMD_OP_ROPE_KV) {
			ck_assert_uint_eq(op->u.rope_kv.norm_when, LMD_QKN_NONE);
		} else if (op->code == LMD_OP_NORM) {
			ck_assert(!op->u.norm.r.src && !op->u.norm.h.src);
		}
	}
	/* fixed point: nothing is left to decompose */
	v = lmi_plan_view(p);
	{
		uint32_t n = v->n_op;

		ck_assert_int_eq(lmi_plan_lower_all(p, &err), LMD_OK);
		ck_assert_uint_eq(lmi_plan_view(p)->n_op, n);
	}
	ck_assert_int_eq(lmi_plan_layout(p, &err), LMD_OK);
	lmi_plan_destroy(p);
}
END_TEST

/* A device that runs all but one code, or LINEAR without a prologue. */
struct device {
	uint32_t unsupported;
	bool no_prologue;
	uint32_t asked;
};

static bool support(void *arg, const struct lmd_plan *plan, const struct lmd_op *op, char *reason,
		    size_t n)
{
	struct device *d = arg;

	(void)plan;
	d->asked++;
	if (op->code == d->unsupported) {
		snprintf(reason, n, "no kernel for code %u", op->code);
		return false;
	}
	return !(d->no_prologue && op->code == LMD_OP_LINEAR &&
		 op->u.linear.pro.kind != LMD_NORM_NONE);
}

START_TEST(device_gets_supported_ops)
{
	static const struct {
		uint32_t unsupported;
		enum lmd_status st;
	} cases[] = {
		{0, LMD_OK},
		{LMD_OP_FFN, LMD_OK},
		{LMD_OP_MOE_FFN, LMD_OK},
		{LMD_OP_HEAD, LMD_OK},
		{LMD_OP_GLU, LMD_OK},
		{LMD_OP_EW, LMD_UNSUPPORTED},
		{LMD_OP_NORM, LMD_UNSUPPORTED},
		{LMD_OP_BMM, LMD_UNSUPPORTED},
		{LMD_OP_SCAN, LMD_UNSUPPORTED},
	};
	struct device d = {.unsupported = cases[_i].unsupported};
	struct lmd_error err = {0};
	struct fx fx;
	struct lmi_plan *p = plan_of_all_ops(&fx);
	const uint32_t before = lmi_plan_view(p)->n_op;

	ck_assert_msg(lmi_plan_lower(p, support, &d, &err) == cases[_i].st, "%s", err.text);
	ck_assert_uint_gt(d.asked, 0);
	if (cases[_i].st == LMD_OK && d.unsupported) {
		ck_assert_uint_eq(n_ops(p, d.unsupported), 0);
		ck_assert_uint_ge(lmi_plan_view(p)->n_op, before);
	} else if (cases[_i].st != LMD_OK) {
		ck_assert_ptr_nonnull(strstr(err.text, lmi_op_info(d.unsupported)->name));
		ck_assert_ptr_nonnull(strstr(err.text, "no kernel for code"));
	} else {
		ck_assert_uint_eq(lmi_plan_view(p)->n_op, before);
	}
	lmi_plan_destroy(p);
}
END_TEST

/* FFN is decomposed into a LINEAR that keeps its prologue, unless the device does not support
 * prologues. */
START_TEST(no_further_than_needed)
{
	for (int no_prologue = 0; no_prologue < 2; no_prologue++) {
		struct device d = {.unsupported = LMD_OP_FFN, .no_prologue = no_prologue};
		struct lmd_error err = {0};
		struct fx fx;
		struct lmi_plan *p = plan_of_all_ops(&fx);
		const uint32_t norms = n_ops(p, LMD_OP_NORM);

		ck_assert_int_eq(lmi_plan_lower(p, support, &d, &err), LMD_OK);
		/* those of attention and of the feed-forward block */
		ck_assert_uint_eq(n_ops(p, LMD_OP_NORM), norms + (no_prologue ? 2 : 0));
		lmi_plan_destroy(p);
	}
}
END_TEST

TCase *plan_lower_cases(void)
{
	TCase *t = tcase_create("lower");

	tcase_add_loop_test(t, activations, 0, 2 * LMD_N_ACT);
	tcase_add_test(t, everything_is_decomposed);
	tcase_add_loop_test(t, device_gets_supported_ops, 0, 9);
	tcase_add_test(t, no_further_than_needed);
	return t;
}
