/* SPDX-License-Identifier: MIT
 *
 * Tests, as in "x is test". */
#include "core/jinja/builtin.h"

/* Python looks these names up in a dictionary, so an unhashable value is an error. */
static bool is_name(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (!lmi_jinja_val_hashable(v))
		lmi_jinja_run_fail(run, "unhashable type: '%s'", lmi_jinja_val_type(v));
	return v.kind == LMI_JINJA_V_STR;
}

#define IS(name, expression)                                                                       \
	static LMI_JINJA_BUILTIN(name)                                                             \
	{                                                                                          \
		(void)run;                                                                         \
		(void)a;                                                                           \
		return lmi_jinja_bool(expression);                                                 \
	}

IS(is_defined, self.kind != LMI_JINJA_V_UNDEF)
IS(is_undefined, self.kind == LMI_JINJA_V_UNDEF)
IS(is_none, self.kind == LMI_JINJA_V_NONE)
IS(is_boolean, self.kind == LMI_JINJA_V_BOOL)
IS(is_true, self.kind == LMI_JINJA_V_BOOL && self.u.b)
IS(is_false, self.kind == LMI_JINJA_V_BOOL && !self.u.b)
IS(is_integer, self.kind == LMI_JINJA_V_INT)
IS(is_float, self.kind == LMI_JINJA_V_FLOAT)
IS(is_number, lmi_jinja_is_number(self))
IS(is_string, self.kind == LMI_JINJA_V_STR)
IS(is_mapping, self.kind == LMI_JINJA_V_DICT)
IS(is_iterable, lmi_jinja_val_iterable(self))
IS(is_sequence, lmi_jinja_val_length(self) >= 0 && self.kind != LMI_JINJA_V_VIEW)
IS(is_callable, lmi_jinja_val_callable(self))
IS(is_escaped, self.kind == LMI_JINJA_V_STR && self.flags & LMI_JINJA_VF_SAFE)
IS(is_lower, lmi_jinja_str_is_case(run, lmi_jinja_val_text(run, self), false))
IS(is_upper, lmi_jinja_str_is_case(run, lmi_jinja_val_text(run, self), true))
IS(is_eq, lmi_jinja_val_equal(run, self, a[0]))
IS(is_ne, !lmi_jinja_val_equal(run, self, a[0]))
IS(is_lt, lmi_jinja_val_compare(run, LMI_JINJA_CMP_LT, self, a[0]))
IS(is_le, lmi_jinja_val_compare(run, LMI_JINJA_CMP_LE, self, a[0]))
IS(is_gt, lmi_jinja_val_compare(run, LMI_JINJA_CMP_GT, self, a[0]))
IS(is_ge, lmi_jinja_val_compare(run, LMI_JINJA_CMP_GE, self, a[0]))
IS(is_in, lmi_jinja_val_contains(run, a[0], self))
IS(is_filter, is_name(run, self) && lmi_jinja_filter_find(self.u.s, self.n))
IS(is_test, is_name(run, self) && lmi_jinja_test_find(self.u.s, self.n))

#undef IS

static struct lmi_jinja_val remainder_is(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					 struct lmi_jinja_val by, int64_t want)
{
	struct lmi_jinja_val r = lmi_jinja_val_binary(run, LMI_JINJA_OP_MOD, v, by);

	return lmi_jinja_bool(lmi_jinja_val_equal(run, r, lmi_jinja_int(want)));
}

static LMI_JINJA_BUILTIN(is_even)
{
	(void)a;
	return remainder_is(run, self, lmi_jinja_int(2), 0);
}

static LMI_JINJA_BUILTIN(is_odd)
{
	(void)a;
	return remainder_is(run, self, lmi_jinja_int(2), 1);
}

static LMI_JINJA_BUILTIN(is_divisibleby)
{
	return remainder_is(run, self, a[0], 0);
}

/* Whether both are the same object; strings and numbers of equal value count as the same. */
static LMI_JINJA_BUILTIN(is_sameas)
{
	if (self.kind != a[0].kind)
		return lmi_jinja_bool(false);
	switch ((enum lmi_jinja_vkind)self.kind) {
	case LMI_JINJA_V_NONE:
	case LMI_JINJA_V_BOOL:
	case LMI_JINJA_V_INT:
	case LMI_JINJA_V_FLOAT:
	case LMI_JINJA_V_STR:
	case LMI_JINJA_V_BYTES:
		return lmi_jinja_bool(lmi_jinja_val_equal(run, self, a[0]));
	default: /* compare the pointers */
		return lmi_jinja_bool(self.u.s == a[0].u.s);
	}
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "defined", .fn = is_defined, .params = ""},
	{.name = "undefined", .fn = is_undefined, .params = ""},
	{.name = "none", .fn = is_none, .params = ""},
	{.name = "boolean", .fn = is_boolean, .params = ""},
	{.name = "true", .fn = is_true, .params = ""},
	{.name = "false", .fn = is_false, .params = ""},
	{.name = "integer", .fn = is_integer, .params = ""},
	{.name = "float", .fn = is_float, .params = ""},
	{.name = "number", .fn = is_number, .params = ""},
	{.name = "string", .fn = is_string, .params = ""},
	{.name = "mapping", .fn = is_mapping, .params = ""},
	{.name = "iterable", .fn = is_iterable, .params = ""},
	{.name = "sequence", .fn = is_sequence, .params = ""},
	{.name = "callable", .fn = is_callable, .params = ""},
	{.name = "escaped", .fn = is_escaped, .params = ""},
	{.name = "lower", .fn = is_lower, .params = ""},
	{.name = "upper", .fn = is_upper, .params = ""},
	{.name = "even", .fn = is_even, .params = ""},
	{.name = "odd", .fn = is_odd, .params = ""},
	{.name = "divisibleby", .fn = is_divisibleby, .params = "num", .n_required = 1},
	{.name = "sameas", .fn = is_sameas, .params = "other", .n_required = 1},
	{.name = "in", .fn = is_in, .params = "seq", .n_required = 1},
	{.name = "filter", .fn = is_filter, .params = ""},
	{.name = "test", .fn = is_test, .params = ""},
	{.name = "eq", .fn = is_eq, .params = "other", .n_required = 1},
	{.name = "equalto", .fn = is_eq, .params = "other", .n_required = 1},
	{.name = "==", .fn = is_eq, .params = "other", .n_required = 1},
	{.name = "ne", .fn = is_ne, .params = "other", .n_required = 1},
	{.name = "!=", .fn = is_ne, .params = "other", .n_required = 1},
	{.name = "lt", .fn = is_lt, .params = "other", .n_required = 1},
	{.name = "lessthan", .fn = is_lt, .params = "other", .n_required = 1},
	{.name = "<", .fn = is_lt, .params = "other", .n_required = 1},
	{.name = "le", .fn = is_le, .params = "other", .n_required = 1},
	{.name = "<=", .fn = is_le, .params = "other", .n_required = 1},
	{.name = "gt", .fn = is_gt, .params = "other", .n_required = 1},
	{.name = "greaterthan", .fn = is_gt, .params = "other", .n_required = 1},
	{.name = ">", .fn = is_gt, .params = "other", .n_required = 1},
	{.name = "ge", .fn = is_ge, .params = "other", .n_required = 1},
	{.name = ">=", .fn = is_ge, .params = "other", .n_required = 1},
};

const struct lmi_jinja_builtin *lmi_jinja_test_find(const char *name, size_t n)
{
	return lmi_jinja_builtin_find(rows, LMD_LEN(rows), name, n);
}

const struct lmi_jinja_builtin *lmi_jinja_test_row(size_t i)
{
	return i < LMD_LEN(rows) ? &rows[i] : NULL;
}
