/* SPDX-License-Identifier: MIT
 *
 * Arithmetic as in Python: integer results are exact or an error, division rounds down, strings and
 * lists can be added and repeated. */
#include <math.h>

#include "core/jinja/ops.h"
#include "core/jinja/run.h"
#include "core/jinja/str_buf.h"

static const char *const signs[] = {
	[LMI_JINJA_OP_ADD] = "+",  [LMI_JINJA_OP_SUB] = "-", [LMI_JINJA_OP_MUL] = "*",
	[LMI_JINJA_OP_DIV] = "/",  [LMI_JINJA_OP_MOD] = "%", [LMI_JINJA_OP_FLOORDIV] = "//",
	[LMI_JINJA_OP_POW] = "**",
};

static struct lmi_jinja_val too_large(struct lmi_jinja_run *run)
{
	lmi_jinja_run_fail_status(run, LMD_UNSUPPORTED, "an integer does not fit in 64 bits");
	return lmi_jinja_none();
}

static struct lmi_jinja_val fail_zero_division(struct lmi_jinja_run *run)
{
	lmi_jinja_run_fail(run, "division by zero");
	return lmi_jinja_none();
}

static struct lmi_jinja_val int_pow(struct lmi_jinja_run *run, int64_t a, int64_t b)
{
	int64_t r = 1;

	if (b < 0) {
		if (!a)
			return fail_zero_division(run);
		return lmi_jinja_float(pow((double)a, (double)b));
	}
	if (a == 0 || a == 1 || a == -1)
		return lmi_jinja_int(b == 0 ? 1 : a == -1 && !(b & 1) ? 1 : a);
	for (; b; b--) { /* overflows after at most 63 rounds */
		if (__builtin_mul_overflow(r, a, &r))
			return too_large(run);
	}
	return lmi_jinja_int(r);
}

static struct lmi_jinja_val int_op(struct lmi_jinja_run *run, enum lmi_jinja_binop op, int64_t a,
				   int64_t b)
{
	int64_t r = 0;
	bool over = false;

	switch (op) {
	case LMI_JINJA_OP_ADD:
		over = __builtin_add_overflow(a, b, &r);
		break;
	case LMI_JINJA_OP_SUB:
		over = __builtin_sub_overflow(a, b, &r);
		break;
	case LMI_JINJA_OP_MUL:
		over = __builtin_mul_overflow(a, b, &r);
		break;
	case LMI_JINJA_OP_DIV:
		if (!b)
			return fail_zero_division(run);
		return lmi_jinja_float((double)((long double)a / (long double)b));
	case LMI_JINJA_OP_FLOORDIV:
	case LMI_JINJA_OP_MOD:
		if (!b)
			return fail_zero_division(run);
		if (b == -1) { /* dividing the smallest integer by -1 overflows in hardware */
			if (op == LMI_JINJA_OP_MOD)
				return lmi_jinja_int(0);
			over = __builtin_sub_overflow(0, a, &r);
			break;
		}
		r = op == LMI_JINJA_OP_MOD ? a % b : a / b;
		if (a % b && (a < 0) != (b < 0))
			r += op == LMI_JINJA_OP_MOD ? b : -1;
		break;
	case LMI_JINJA_OP_POW:
		return int_pow(run, a, b);
	}
	return over ? too_large(run) : lmi_jinja_int(r);
}

static struct lmi_jinja_val float_pow(struct lmi_jinja_run *run, double a, double b)
{
	double r;

	if (a == 0.0 && b < 0.0)
		return fail_zero_division(run);
	if (a < 0.0 && isfinite(b) && b != floor(b)) {
		lmi_jinja_run_fail_status(run, LMD_UNSUPPORTED,
					  "the result of ** is a complex number");
		return lmi_jinja_none();
	}
	r = pow(a, b);
	if (isinf(r) && isfinite(a) && isfinite(b))
		lmi_jinja_run_fail(run, "the result of ** is too large for a float");
	return lmi_jinja_float(r);
}

/* Quotient rounded down, or remainder with the sign of b. */
static struct lmi_jinja_val float_divmod(enum lmi_jinja_binop op, double a, double b)
{
	double mod = fmod(a, b), div = (a - mod) / b, down;

	if (mod != 0.0) {
		if ((b < 0.0) != (mod < 0.0)) {
			mod += b;
			div -= 1.0;
		}
	} else {
		mod = copysign(0.0, b);
	}
	if (op == LMI_JINJA_OP_MOD)
		return lmi_jinja_float(mod);
	if (div == 0.0)
		return lmi_jinja_float(copysign(0.0, a / b));
	down = floor(div);
	return lmi_jinja_float(div - down > 0.5 ? down + 1.0 : down);
}

static struct lmi_jinja_val float_op(struct lmi_jinja_run *run, enum lmi_jinja_binop op, double a,
				     double b)
{
	switch (op) {
	case LMI_JINJA_OP_ADD:
		return lmi_jinja_float(a + b);
	case LMI_JINJA_OP_SUB:
		return lmi_jinja_float(a - b);
	case LMI_JINJA_OP_MUL:
		return lmi_jinja_float(a * b);
	case LMI_JINJA_OP_DIV:
		return b == 0.0 ? fail_zero_division(run) : lmi_jinja_float(a / b);
	case LMI_JINJA_OP_FLOORDIV:
	case LMI_JINJA_OP_MOD:
		return b == 0.0 ? fail_zero_division(run) : float_divmod(op, a, b);
	case LMI_JINJA_OP_POW:
		return float_pow(run, a, b);
	}
	return lmi_jinja_none();
}

static struct lmi_jinja_val add_str(struct lmi_jinja_run *run, struct lmi_jinja_val a,
				    struct lmi_jinja_val b)
{
	struct lmi_jinja_val r;
	uint8_t safe = (a.flags | b.flags) & LMI_JINJA_VF_SAFE;

	if (safe) { /* escape the operand that is not safe */
		a = lmi_jinja_val_escape(run, a);
		b = lmi_jinja_val_escape(run, b);
	}
	r = lmi_jinja_str_concat(run, a, b);
	r.flags = safe;
	return r;
}

static struct lmi_jinja_val add_list(struct lmi_jinja_run *run, struct lmi_jinja_val a,
				     struct lmi_jinja_val b)
{
	struct lmi_jinja_val r = lmi_jinja_list_new(run);

	for (uint32_t i = 0; i < a.u.list->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, r.u.list, a.u.list->v[i]);
	for (uint32_t i = 0; i < b.u.list->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, r.u.list, b.u.list->v[i]);
	r.kind = a.kind;
	return r;
}

static struct lmi_jinja_val repeat(struct lmi_jinja_run *run, struct lmi_jinja_val v, int64_t n)
{
	struct lmi_jinja_val r;

	n = n < 0 ? 0 : n;
	if (v.kind == LMI_JINJA_V_STR || v.kind == LMI_JINJA_V_BYTES) {
		struct lmi_jinja_str_buf b = {.run = run};

		for (; n && v.n && lmi_jinja_run_step(run, 1); n--)
			lmi_jinja_buf_add(&b, v.u.s, v.n);
		r = lmi_jinja_buf_done(&b);
		r.flags = v.flags;
	} else {
		r = lmi_jinja_list_new(run);
		for (; n && v.u.list->n && lmi_jinja_run_step(run, 1); n--) {
			for (uint32_t i = 0; i < v.u.list->n && lmi_jinja_run_step(run, 1); i++)
				lmi_jinja_list_add(run, r.u.list, v.u.list->v[i]);
		}
	}
	r.kind = v.kind;
	return r;
}

static bool repeats(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_STR || v.kind == LMI_JINJA_V_BYTES ||
	       v.kind == LMI_JINJA_V_LIST || v.kind == LMI_JINJA_V_TUPLE;
}

static bool undefined(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (v.kind == LMI_JINJA_V_UNDEF)
		lmi_jinja_run_fail(run, "'%.*s' is undefined", (int)v.n, v.u.s);
	return v.kind == LMI_JINJA_V_UNDEF;
}

struct lmi_jinja_val lmi_jinja_val_binary(struct lmi_jinja_run *run, enum lmi_jinja_binop op,
					  struct lmi_jinja_val a, struct lmi_jinja_val b)
{
	if (run->failed)
		return a;
	if (lmi_jinja_is_integer(a) && lmi_jinja_is_integer(b))
		return int_op(run, op, lmi_jinja_integer(a), lmi_jinja_integer(b));
	if (lmi_jinja_is_number(a) && lmi_jinja_is_number(b))
		return float_op(run, op, lmi_jinja_number(a), lmi_jinja_number(b));
	if (op == LMI_JINJA_OP_MOD && a.kind == LMI_JINJA_V_STR)
		return lmi_jinja_format_percent(run, a, b);
	if (undefined(run, a) || undefined(run, b))
		return lmi_jinja_none();
	if (op == LMI_JINJA_OP_ADD && a.kind == b.kind) {
		if (a.kind == LMI_JINJA_V_STR || a.kind == LMI_JINJA_V_BYTES)
			return add_str(run, a, b);
		if (a.kind == LMI_JINJA_V_LIST || a.kind == LMI_JINJA_V_TUPLE)
			return add_list(run, a, b);
	}
	if (op == LMI_JINJA_OP_MUL && repeats(a) && lmi_jinja_is_integer(b))
		return repeat(run, a, lmi_jinja_integer(b));
	if (op == LMI_JINJA_OP_MUL && repeats(b) && lmi_jinja_is_integer(a))
		return repeat(run, b, lmi_jinja_integer(a));
	lmi_jinja_run_fail(run, "unsupported operand types for %s: '%s' and '%s'", signs[op],
			   lmi_jinja_val_type(a), lmi_jinja_val_type(b));
	return lmi_jinja_none();
}

struct lmi_jinja_val lmi_jinja_val_negate(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (lmi_jinja_is_integer(v))
		return int_op(run, LMI_JINJA_OP_SUB, 0, lmi_jinja_integer(v));
	if (v.kind == LMI_JINJA_V_FLOAT)
		return lmi_jinja_float(-v.u.f);
	if (!undefined(run, v))
		lmi_jinja_run_fail(run, "bad operand type for unary -: '%s'",
				   lmi_jinja_val_type(v));
	return v;
}

struct lmi_jinja_val lmi_jinja_val_positive(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (lmi_jinja_is_integer(v))
		return lmi_jinja_int(lmi_jinja_integer(v));
	if (v.kind == LMI_JINJA_V_FLOAT || undefined(run, v))
		return v;
	lmi_jinja_run_fail(run, "bad operand type for unary +: '%s'", lmi_jinja_val_type(v));
	return v;
}
