/* SPDX-License-Identifier: MIT
 *
 * Equality and order of values. */
#include <math.h>
#include <string.h>

#include "core/jinja/call.h"
#include "core/jinja/ops.h"
#include "core/jinja/run.h"

static int compare_bytes(struct lmi_jinja_run *run, struct lmi_jinja_val a,
			 struct lmi_jinja_val b)
{
	uint32_t n = a.n < b.n ? a.n : b.n;
	int c = n && lmi_jinja_run_step(run, n / 16) ? memcmp(a.u.s, b.u.s, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static bool equal_lists(struct lmi_jinja_run *run, const struct lmi_jinja_list *a,
			const struct lmi_jinja_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n && lmi_jinja_run_step(run, 1); i++) {
		if (!lmi_jinja_val_equal(run, a->v[i], b->v[i]))
			return false;
	}
	return true;
}

static bool equal_dicts(struct lmi_jinja_run *run, const struct lmi_jinja_dict *a,
			const struct lmi_jinja_dict *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n && lmi_jinja_run_step(run, 1); i++) {
		const struct lmi_jinja_val *v = lmi_jinja_dict_find(run, b, a->e[i].key);

		if (!v || !lmi_jinja_val_equal(run, a->e[i].value, *v))
			return false;
	}
	return true;
}

static bool equal_deep(struct lmi_jinja_run *run, struct lmi_jinja_val a, struct lmi_jinja_val b)
{
	bool same = false;

	if (!lmi_jinja_run_enter(run))
		return false;
	if (a.kind == LMI_JINJA_V_DICT)
		same = equal_dicts(run, a.u.dict, b.u.dict);
	else
		same = equal_lists(run, a.u.list, b.u.list);
	lmi_jinja_run_leave(run);
	return same;
}

/* Views of keys and of items compare as sets; a view of values equals only itself. */
static bool equal_views(struct lmi_jinja_run *run, const struct lmi_jinja_view *a,
			const struct lmi_jinja_view *b)
{
	bool same;

	if (a->of != b->of || a->of == LMI_JINJA_VIEW_VALUES || a->dict->n != b->dict->n)
		return false;
	if (a->of == LMI_JINJA_VIEW_KEYS) {
		for (uint32_t i = 0; i < a->dict->n && lmi_jinja_run_step(run, 1); i++)
			if (!lmi_jinja_dict_find(run, b->dict, a->dict->e[i].key))
				return false;
		return true;
	}
	if (!lmi_jinja_run_enter(run))
		return false;
	same = equal_dicts(run, a->dict, b->dict);
	lmi_jinja_run_leave(run);
	return same;
}

/* long double represents every int64 and every double exactly. */
static long double as_long_double(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_FLOAT ? (long double)v.u.f : (long double)lmi_jinja_integer(v);
}

static bool equal_ranges(const struct lmi_jinja_range *a, const struct lmi_jinja_range *b)
{
	return a->n == b->n &&
	       (!a->n || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

bool lmi_jinja_val_equal(struct lmi_jinja_run *run, struct lmi_jinja_val a, struct lmi_jinja_val b)
{
	if (lmi_jinja_is_number(a) && lmi_jinja_is_number(b))
		return as_long_double(a) == as_long_double(b);
	if (a.kind != b.kind)
		return false;
	switch ((enum lmi_jinja_vkind)a.kind) {
	case LMI_JINJA_V_MISSING:
	case LMI_JINJA_V_UNDEF:
	case LMI_JINJA_V_NONE:
		return true;
	case LMI_JINJA_V_STR:
	case LMI_JINJA_V_BYTES:
		return a.n == b.n && !compare_bytes(run, a, b);
	case LMI_JINJA_V_LIST:
	case LMI_JINJA_V_TUPLE:
	case LMI_JINJA_V_DICT:
		return a.u.list == b.u.list || equal_deep(run, a, b);
	case LMI_JINJA_V_RANGE:
		return equal_ranges(a.u.range, b.u.range);
	case LMI_JINJA_V_VIEW:
		return a.u.view == b.u.view || equal_views(run, a.u.view, b.u.view);
	case LMI_JINJA_V_BUILTIN:
		return a.u.bound->f == b.u.bound->f &&
		       (a.u.bound == b.u.bound ||
			(lmi_jinja_is(a.u.bound->self, b.u.bound->self.kind) &&
			 a.u.bound->self.u.s == b.u.bound->self.u.s));
	default: /* other kinds compare by identity */
		return a.u.s == b.u.s;
	}
}

static bool holds(enum lmi_jinja_cmp op, int c)
{
	switch (op) {
	case LMI_JINJA_CMP_LT:
		return c < 0;
	case LMI_JINJA_CMP_LE:
		return c <= 0;
	case LMI_JINJA_CMP_GT:
		return c > 0;
	case LMI_JINJA_CMP_GE:
		return c >= 0;
	}
	return false;
}

static bool compare_numbers(enum lmi_jinja_cmp op, struct lmi_jinja_val a, struct lmi_jinja_val b)
{
	long double x = as_long_double(a), y = as_long_double(b);

	if (isnan(x) || isnan(y))
		return false;
	return holds(op, (x > y) - (x < y));
}

static bool compare_lists(struct lmi_jinja_run *run, enum lmi_jinja_cmp op,
			  const struct lmi_jinja_list *a, const struct lmi_jinja_list *b)
{
	uint32_t n = a->n < b->n ? a->n : b->n;
	bool yes;

	for (uint32_t i = 0; i < n && lmi_jinja_run_step(run, 1); i++) {
		if (lmi_jinja_val_equal(run, a->v[i], b->v[i]))
			continue;
		if (!lmi_jinja_run_enter(run))
			return false;
		yes = lmi_jinja_val_compare(run, op, a->v[i], b->v[i]);
		lmi_jinja_run_leave(run);
		return yes;
	}
	return holds(op, (a->n > b->n) - (a->n < b->n));
}

bool lmi_jinja_val_compare(struct lmi_jinja_run *run, enum lmi_jinja_cmp op, struct lmi_jinja_val a,
			   struct lmi_jinja_val b)
{
	static const char *const sign[] = {"<", "<=", ">", ">="};

	if (lmi_jinja_is_number(a) && lmi_jinja_is_number(b))
		return compare_numbers(op, a, b);
	if (a.kind == LMI_JINJA_V_UNDEF || b.kind == LMI_JINJA_V_UNDEF) {
		struct lmi_jinja_val u = a.kind == LMI_JINJA_V_UNDEF ? a : b;

		lmi_jinja_run_fail(run, "'%.*s' is undefined", (int)u.n, u.u.s);
		return false;
	}
	if (a.kind == b.kind && (a.kind == LMI_JINJA_V_STR || a.kind == LMI_JINJA_V_BYTES))
		return holds(op, compare_bytes(run, a, b));
	if (a.kind == b.kind && (a.kind == LMI_JINJA_V_LIST || a.kind == LMI_JINJA_V_TUPLE))
		return compare_lists(run, op, a.u.list, b.u.list);
	lmi_jinja_run_fail(run, "'%s' not supported between instances of '%s' and '%s'", sign[op],
			   lmi_jinja_val_type(a), lmi_jinja_val_type(b));
	return false;
}
