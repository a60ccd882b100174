/* SPDX-License-Identifier: MIT
 *
 * What values do: truth, equality, order, membership, walking, items and attributes. */
#include <math.h>

#include "core/text/template/uni.h"
#include "core/text/template/value.h"

const char *lmi_val_type(struct lmi_val v)
{
	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_MISSING:
	case LMI_V_UNDEF:
		return "Undefined";
	case LMI_V_NONE:
		return "NoneType";
	case LMI_V_BOOL:
		return "bool";
	case LMI_V_INT:
		return "int";
	case LMI_V_FLOAT:
		return "float";
	case LMI_V_STR:
		return "str";
	case LMI_V_BYTES:
		return "bytes";
	case LMI_V_LIST:
		return "list";
	case LMI_V_TUPLE:
		return "tuple";
	case LMI_V_DICT:
		return "dict";
	case LMI_V_VIEW:
		return "dict view";
	case LMI_V_RANGE:
		return "range";
	case LMI_V_ITER:
		return "generator";
	case LMI_V_NAMESPACE:
		return "Namespace";
	case LMI_V_BUILTIN:
		return "function";
	case LMI_V_MACRO:
		return "Macro";
	case LMI_V_LOOP:
		return "LoopContext";
	case LMI_V_CYCLER:
		return "Cycler";
	case LMI_V_JOINER:
		return "Joiner";
	}
	return "?";
}

bool lmi_val_truth(struct lmi_val v)
{
	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_MISSING:
	case LMI_V_UNDEF:
	case LMI_V_NONE:
		return false;
	case LMI_V_BOOL:
		return v.u.b;
	case LMI_V_INT:
		return v.u.i != 0;
	case LMI_V_FLOAT:
		return v.u.f != 0.0;
	case LMI_V_STR:
	case LMI_V_BYTES:
		return v.n != 0;
	case LMI_V_LIST:
	case LMI_V_TUPLE:
	case LMI_V_DICT:
	case LMI_V_VIEW:
	case LMI_V_RANGE:
		return lmi_val_length(v) != 0;
	case LMI_V_ITER:
	case LMI_V_NAMESPACE:
	case LMI_V_BUILTIN:
	case LMI_V_MACRO:
	case LMI_V_LOOP:
	case LMI_V_CYCLER:
	case LMI_V_JOINER:
		break;
	}
	return true;
}

int64_t lmi_val_length(struct lmi_val v)
{
	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_UNDEF:
		return 0;
	case LMI_V_STR:
		return (int64_t)lmi_uni_count(v.u.s, v.n);
	case LMI_V_BYTES:
		return v.n;
	case LMI_V_LIST:
	case LMI_V_TUPLE:
		return v.u.list->n;
	case LMI_V_DICT:
		return v.u.dict->n;
	case LMI_V_VIEW:
		return v.u.view->dict->n;
	case LMI_V_RANGE:
		return v.u.range->n;
	default: /* numbers, functions, iterators */
		return -1;
	}
}

/* Equality and order */

static int compare_bytes(struct lmi_val a, struct lmi_val b)
{
	uint32_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.u.s, b.u.s, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static bool equal_lists(struct lmi_run *run, const struct lmi_list *a, const struct lmi_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n && lmi_run_step(run, 1); i++) {
		if (!lmi_val_equal(run, a->v[i], b->v[i]))
			return false;
	}
	return true;
}

static bool equal_dicts(struct lmi_run *run, const struct lmi_dict *a, const struct lmi_dict *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n && lmi_run_step(run, 1); i++) {
		const struct lmi_val *v = lmi_dict_find(run, b, a->e[i].key);

		if (!v || !lmi_val_equal(run, a->e[i].value, *v))
			return false;
	}
	return true;
}

static bool equal_deep(struct lmi_run *run, struct lmi_val a, struct lmi_val b)
{
	bool same = false;

	if (!lmi_run_enter(run))
		return false;
	if (a.kind == LMI_V_DICT)
		same = equal_dicts(run, a.u.dict, b.u.dict);
	else
		same = equal_lists(run, a.u.list, b.u.list);
	lmi_run_leave(run);
	return same;
}

/* Views of keys and of items are sets; one of values is itself alone. */
static bool equal_views(struct lmi_run *run, const struct lmi_view *a, const struct lmi_view *b)
{
	bool same;

	if (a->of != b->of || a->of == LMI_VIEW_VALUES || a->dict->n != b->dict->n)
		return false;
	if (a->of == LMI_VIEW_KEYS) {
		for (uint32_t i = 0; i < a->dict->n && lmi_run_step(run, 1); i++)
			if (!lmi_dict_find(run, b->dict, a->dict->e[i].key))
				return false;
		return true;
	}
	if (!lmi_run_enter(run))
		return false;
	same = equal_dicts(run, a->dict, b->dict);
	lmi_run_leave(run);
	return same;
}

/* long double holds every int64 and every double. */
static long double wide(struct lmi_val v)
{
	return v.kind == LMI_V_FLOAT ? (long double)v.u.f : (long double)lmi_integer(v);
}

static bool equal_ranges(const struct lmi_range *a, const struct lmi_range *b)
{
	return a->n == b->n &&
	       (!a->n || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

bool lmi_val_equal(struct lmi_run *run, struct lmi_val a, struct lmi_val b)
{
	if (lmi_is_number(a) && lmi_is_number(b))
		return wide(a) == wide(b);
	if (a.kind != b.kind)
		return false;
	switch ((enum lmi_vkind)a.kind) {
	case LMI_V_MISSING:
	case LMI_V_UNDEF:
	case LMI_V_NONE:
		return true;
	case LMI_V_STR:
	case LMI_V_BYTES:
		(void)lmi_run_step(run, a.n / 64); /* the caller sees the failure */
		return a.n == b.n && !compare_bytes(a, b);
	case LMI_V_LIST:
	case LMI_V_TUPLE:
	case LMI_V_DICT:
		return a.u.list == b.u.list || equal_deep(run, a, b);
	case LMI_V_RANGE:
		return equal_ranges(a.u.range, b.u.range);
	case LMI_V_VIEW:
		return a.u.view == b.u.view || equal_views(run, a.u.view, b.u.view);
	case LMI_V_BUILTIN:
		return a.u.bound->f == b.u.bound->f &&
		       (a.u.bound == b.u.bound || (lmi_is(a.u.bound->self, b.u.bound->self.kind) &&
						   a.u.bound->self.u.s == b.u.bound->self.u.s));
	default: /* the others are equal to themselves alone */
		return a.u.s == b.u.s;
	}
}

static bool holds(enum lmi_cmp op, int c)
{
	switch (op) {
	case LMI_CMP_LT:
		return c < 0;
	case LMI_CMP_LE:
		return c <= 0;
	case LMI_CMP_GT:
		return c > 0;
	case LMI_CMP_GE:
		return c >= 0;
	}
	return false;
}

static bool compare_numbers(enum lmi_cmp op, struct lmi_val a, struct lmi_val b)
{
	long double x = wide(a), y = wide(b);

	if (isnan(x) || isnan(y))
		return false;
	return holds(op, (x > y) - (x < y));
}

static bool compare_lists(struct lmi_run *run, enum lmi_cmp op, const struct lmi_list *a,
			  const struct lmi_list *b)
{
	uint32_t n = a->n < b->n ? a->n : b->n;
	bool yes;

	for (uint32_t i = 0; i < n && lmi_run_step(run, 1); i++) {
		if (lmi_val_equal(run, a->v[i], b->v[i]))
			continue;
		if (!lmi_run_enter(run))
			return false;
		yes = lmi_val_compare(run, op, a->v[i], b->v[i]);
		lmi_run_leave(run);
		return yes;
	}
	return holds(op, (a->n > b->n) - (a->n < b->n));
}

bool lmi_val_compare(struct lmi_run *run, enum lmi_cmp op, struct lmi_val a, struct lmi_val b)
{
	static const char *const sign[] = {"<", "<=", ">", ">="};

	if (lmi_is_number(a) && lmi_is_number(b))
		return compare_numbers(op, a, b);
	if (a.kind == LMI_V_UNDEF || b.kind == LMI_V_UNDEF) {
		struct lmi_val u = a.kind == LMI_V_UNDEF ? a : b;

		lmi_run_fail(run, "'%.*s' is undefined", (int)u.n, u.u.s);
		return false;
	}
	if (a.kind == b.kind && (a.kind == LMI_V_STR || a.kind == LMI_V_BYTES))
		return holds(op, compare_bytes(a, b));
	if (a.kind == b.kind && (a.kind == LMI_V_LIST || a.kind == LMI_V_TUPLE))
		return compare_lists(run, op, a.u.list, b.u.list);
	lmi_run_fail(run, "'%s' not supported between instances of '%s' and '%s'", sign[op],
		     lmi_val_type(a), lmi_val_type(b));
	return false;
}

/* Walking */

bool lmi_val_iterable(struct lmi_val v)
{
	return lmi_val_length(v) >= 0 || v.kind == LMI_V_ITER || v.kind == LMI_V_LOOP;
}

static void add_items(struct lmi_run *run, struct lmi_list *l, struct lmi_val v)
{
	const struct lmi_dict *d = v.kind == LMI_V_VIEW ? v.u.view->dict : v.u.dict;
	const char *from;
	size_t at = 0;

	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_STR:
		while (at < v.n && lmi_run_step(run, 1)) {
			from = v.u.s + at;
			(void)lmi_uni_next(v.u.s, v.n, &at); /* only the way matters */
			lmi_list_add(run, l, lmi_strn(from, (size_t)(v.u.s + at - from)));
		}
		break;
	case LMI_V_BYTES:
		for (; at < v.n && lmi_run_step(run, 1); at++)
			lmi_list_add(run, l, lmi_int((unsigned char)v.u.s[at]));
		break;
	case LMI_V_RANGE:
		for (uint32_t i = 0; i < v.u.range->n && lmi_run_step(run, 1); i++)
			lmi_list_add(run, l, lmi_int(v.u.range->start + i * v.u.range->step));
		break;
	case LMI_V_DICT:
	case LMI_V_VIEW:
		for (uint32_t i = 0; i < d->n && lmi_run_step(run, 1); i++) {
			struct lmi_val item = d->e[i].key;

			if (v.kind == LMI_V_VIEW && v.u.view->of == LMI_VIEW_VALUES)
				item = d->e[i].value;
			else if (v.kind == LMI_V_VIEW && v.u.view->of == LMI_VIEW_ITEMS)
				item = lmi_tuple2(run, item, d->e[i].value);
			lmi_list_add(run, l, item);
		}
		break;
	default: /* undefined: none */
		break;
	}
}

/* What an iterator still has. */
static struct lmi_list *drain(struct lmi_run *run, struct lmi_iter *it)
{
	struct lmi_list *l = lmi_list_new(run).u.list;

	l->n = l->cap = it->items->n - it->at;
	l->v = l->n ? it->items->v + it->at : NULL;
	it->at = it->items->n;
	if (it->failure && !run->failed) {
		run->failed = true;
		run->failure = *it->failure;
	}
	return run->failed ? NULL : l;
}

struct lmi_list *lmi_val_items(struct lmi_run *run, struct lmi_val v)
{
	struct lmi_list *l;

	if (v.kind == LMI_V_LIST || v.kind == LMI_V_TUPLE)
		return run->failed ? NULL : v.u.list;
	if (v.kind == LMI_V_ITER)
		return run->failed ? NULL : drain(run, v.u.iter);
	if (lmi_val_length(v) < 0) {
		lmi_run_fail(run, "'%s' object is not iterable", lmi_val_type(v));
		return NULL;
	}
	l = lmi_list_new(run).u.list;
	add_items(run, l, v);
	return run->failed ? NULL : l;
}

struct lmi_val lmi_iter_new(struct lmi_run *run, struct lmi_val list)
{
	bool failed = run->failed;
	struct lmi_iter *it;

	/* A bound that was hit stays hit. */
	if (failed && run->failure.status == LMD_NOMEM)
		return lmi_none();
	run->failed = false;
	it = lmi_run_alloc(run, sizeof(*it));
	if (!it)
		return lmi_none();
	it->items = list.u.list;
	if (failed) {
		struct lmi_failure *f = lmi_run_alloc(run, sizeof(*f));

		if (!f)
			return lmi_none();
		*f = run->failure;
		it->failure = f;
	}
	return (struct lmi_val){.kind = LMI_V_ITER, .u.iter = it};
}

static bool contains_list(struct lmi_run *run, const struct lmi_list *l, struct lmi_val item)
{
	for (uint32_t i = 0; i < l->n && lmi_run_step(run, 1); i++) {
		if (lmi_val_equal(run, l->v[i], item))
			return true;
	}
	return false;
}

/* Walks an iterator as far as the item. */
static bool contains_iter(struct lmi_run *run, struct lmi_iter *it, struct lmi_val item)
{
	while (it->at < it->items->n && lmi_run_step(run, 1)) {
		if (lmi_val_equal(run, it->items->v[it->at++], item))
			return true;
	}
	return !drain(run, it);
}

bool lmi_val_contains(struct lmi_run *run, struct lmi_val container, struct lmi_val item)
{
	const struct lmi_list *l;

	if (container.kind == LMI_V_STR) {
		if (item.kind != LMI_V_STR) {
			lmi_run_fail(run, "'in <string>' requires string as left operand, not %s",
				     lmi_val_type(item));
			return false;
		}
		return lmi_run_step(run, container.n / 64) &&
		       (!item.n || memmem(container.u.s, container.n, item.u.s, item.n));
	}
	if (container.kind == LMI_V_DICT ||
	    (container.kind == LMI_V_VIEW && container.u.view->of == LMI_VIEW_KEYS))
		return lmi_dict_find(run,
				     container.kind == LMI_V_DICT ? container.u.dict
								  : container.u.view->dict,
				     item) != NULL;
	if (container.kind == LMI_V_ITER)
		return contains_iter(run, container.u.iter, item);
	if (container.kind == LMI_V_BYTES || lmi_val_length(container) < 0) {
		lmi_run_fail(run, "argument of type '%s' is not iterable", lmi_val_type(container));
		return false;
	}
	l = lmi_val_items(run, container);
	return l && contains_list(run, l, item);
}

/* Items and attributes */

static struct lmi_val undef_of(struct lmi_run *run, struct lmi_val key)
{
	struct lmi_val text;

	if (key.kind == LMI_V_STR)
		return lmi_undef(key.u.s, key.n);
	text = lmi_val_repr(run, key);
	return lmi_undef(text.u.s, text.n);
}

static bool fail_undefined(struct lmi_run *run, struct lmi_val v)
{
	if (v.kind != LMI_V_UNDEF)
		return false;
	lmi_run_fail(run, "'%.*s' is undefined", (int)v.n, v.u.s);
	return true;
}

/* Item i of a sequence of n, counted from the end if negative; false if there is none. */
static bool item_at(struct lmi_run *run, struct lmi_val v, int64_t i, struct lmi_val *out)
{
	int64_t n = lmi_val_length(v);
	size_t at, from;

	(void)lmi_run_step(run, v.kind == LMI_V_STR ? v.n / 64 : 0); /* seen later */
	i += i < 0 ? n : 0;
	if (i < 0 || i >= n)
		return false;
	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_STR:
		from = at = lmi_uni_offset(v.u.s, v.n, (size_t)i);
		(void)lmi_uni_next(v.u.s, v.n, &at); /* only the way matters */
		*out = lmi_strn(v.u.s + from, at - from);
		out->flags = v.flags;
		return true;
	case LMI_V_BYTES:
		*out = lmi_int((unsigned char)v.u.s[i]);
		return true;
	case LMI_V_RANGE:
		*out = lmi_int(v.u.range->start + i * v.u.range->step);
		return true;
	default: /* list, tuple */
		*out = v.u.list->v[i];
		return true;
	}
}

static bool is_sequence(struct lmi_val v)
{
	return v.kind == LMI_V_STR || v.kind == LMI_V_BYTES || v.kind == LMI_V_RANGE ||
	       v.kind == LMI_V_LIST || v.kind == LMI_V_TUPLE;
}

struct lmi_val lmi_val_item(struct lmi_run *run, struct lmi_val v, struct lmi_val key)
{
	struct lmi_val out;

	if (fail_undefined(run, v))
		return v;
	if (v.kind == LMI_V_DICT && lmi_val_hashable(key)) {
		const struct lmi_val *p = lmi_dict_find(run, v.u.dict, key);

		if (p)
			return *p;
	}
	if (is_sequence(v) && lmi_is_integer(key) && item_at(run, v, lmi_integer(key), &out))
		return out;
	if (key.kind == LMI_V_STR && lmi_val_find_attr(run, v, key.u.s, key.n, &out))
		return out;
	return undef_of(run, key);
}

static bool name_is(const char *name, size_t n, const char *want)
{
	return n == strlen(want) && !memcmp(name, want, n);
}

static bool find_data(struct lmi_run *run, struct lmi_val v, const char *name, size_t n,
		      struct lmi_val *out)
{
	const struct lmi_val *p;

	switch ((enum lmi_vkind)v.kind) {
	case LMI_V_NAMESPACE:
		p = lmi_dict_find_str(run, v.u.dict, name, n);
		if (p)
			*out = *p;
		return p != NULL;
	case LMI_V_LOOP:
		return lmi_loop_attr(run, v.u.loop, name, n, out);
	case LMI_V_MACRO:
		return lmi_macro_attr(run, v.u.macro, name, n, out);
	case LMI_V_TUPLE:
		if (!(v.flags & LMI_VF_GROUP))
			return false;
		if (!name_is(name, n, "grouper") && !name_is(name, n, "list"))
			return false;
		*out = v.u.list->v[name_is(name, n, "list")];
		return true;
	case LMI_V_CYCLER:
		if (!name_is(name, n, "current"))
			return false;
		*out = v.u.cycler->items->v[v.u.cycler->at];
		return true;
	case LMI_V_RANGE:
		if (name_is(name, n, "start"))
			*out = lmi_int(v.u.range->start);
		else if (name_is(name, n, "stop"))
			*out = lmi_int(v.u.range->stop);
		else if (name_is(name, n, "step"))
			*out = lmi_int(v.u.range->step);
		else
			return false;
		return true;
	case LMI_V_BOOL:
	case LMI_V_INT:
		if (name_is(name, n, "real") || name_is(name, n, "numerator"))
			*out = lmi_int(lmi_integer(v));
		else if (name_is(name, n, "imag"))
			*out = lmi_int(0);
		else if (name_is(name, n, "denominator"))
			*out = lmi_int(1);
		else
			return false;
		return true;
	case LMI_V_FLOAT:
		if (!name_is(name, n, "real") && !name_is(name, n, "imag"))
			return false;
		*out = name_is(name, n, "real") ? v : lmi_float(0.0);
		return true;
	default: /* methods only */
		return false;
	}
}

bool lmi_val_find_attr(struct lmi_run *run, struct lmi_val v, const char *name, size_t n,
		       struct lmi_val *out)
{
	const struct lmi_builtin *f;

	if (find_data(run, v, name, n, out))
		return true;
	f = lmi_method_find((enum lmi_vkind)v.kind, name, n);
	if (f)
		*out = lmi_builtin_value(run, f, v);
	return f != NULL;
}

struct lmi_val lmi_val_attr(struct lmi_run *run, struct lmi_val v, const char *name, size_t n)
{
	const struct lmi_val *p;
	struct lmi_val out;

	if (fail_undefined(run, v))
		return v;
	if (lmi_val_find_attr(run, v, name, n, &out))
		return out;
	p = v.kind == LMI_V_DICT ? lmi_dict_find_str(run, v.u.dict, name, n) : NULL;
	return p ? *p : lmi_undef(name, n);
}

/* Slices */

static bool slice_part(struct lmi_run *run, struct lmi_val v)
{
	if (v.kind == LMI_V_NONE || lmi_is_integer(v))
		return true;
	lmi_run_fail(run, "the parts of a slice are integers or None, not %s", lmi_val_type(v));
	return false;
}

/* One end of a slice as Python clips it. */
static int64_t slice_end(struct lmi_val v, int64_t n, int64_t step, int64_t def)
{
	int64_t i;

	if (v.kind == LMI_V_NONE)
		return def;
	i = lmi_integer(v);
	if (i < 0)
		return i < -n ? (step < 0 ? -1 : 0) : i + n;
	return i >= n ? (step < 0 ? n - 1 : n) : i;
}

static struct lmi_val slice_str(struct lmi_run *run, struct lmi_val v, int64_t from, int64_t n,
				int64_t step, int64_t length)
{
	struct lmi_buf b = {.run = run};
	uint32_t *at;
	struct lmi_val out;
	size_t k = 0;

	if (step == 1) {
		size_t a = lmi_uni_offset(v.u.s, v.n, (size_t)from);

		out = lmi_strn(v.u.s + a, lmi_uni_offset(v.u.s + a, v.n - a, (size_t)n));
		out.flags = v.flags;
		return out;
	}
	at = lmi_run_alloc(run, ((size_t)length + 1) * sizeof(*at));
	if (!at)
		return v;
	for (int64_t i = 0; i <= length; i++) {
		at[i] = (uint32_t)k;
		if (i < length)
			(void)lmi_uni_next(v.u.s, v.n, &k); /* only the way matters */
	}
	for (int64_t i = 0; i < n && lmi_run_step(run, 1); i++, from += step)
		lmi_buf_add(&b, v.u.s + at[from], at[from + 1] - at[from]);
	out = lmi_buf_done(&b);
	out.flags = v.flags;
	return out;
}

static struct lmi_val slice_range(struct lmi_run *run, const struct lmi_range *r, int64_t from,
				  int64_t n, int64_t step)
{
	struct lmi_range *s = lmi_run_alloc(run, sizeof(*s));

	if (!s)
		return lmi_none();
	s->start = r->start + from * r->step;
	s->step = r->step * step;
	s->n = (uint32_t)n;
	s->stop = s->start + n * s->step;
	return (struct lmi_val){.kind = LMI_V_RANGE, .u.range = s};
}

struct lmi_val lmi_val_slice(struct lmi_run *run, struct lmi_val v, struct lmi_val from,
			     struct lmi_val to, struct lmi_val step)
{
	int64_t length = lmi_val_length(v), s = 1, a, b, n = 0;
	struct lmi_val out;

	if (fail_undefined(run, v))
		return v;
	if (!is_sequence(v)) {
		lmi_run_fail(run, "a value of type %s has no slices", lmi_val_type(v));
		return v;
	}
	if (!slice_part(run, from) || !slice_part(run, to) || !slice_part(run, step))
		return v;
	if (step.kind != LMI_V_NONE)
		s = lmi_integer(step);
	if (!s) {
		lmi_run_fail(run, "slice step cannot be zero");
		return v;
	}
	/* A step longer than the whole is as good as any longer one. */
	s = s > length + 1 ? length + 1 : s < -length - 1 ? -length - 1 : s;
	a = slice_end(from, length, s, s < 0 ? length - 1 : 0);
	b = slice_end(to, length, s, s < 0 ? -1 : length);
	if (s > 0 && a < b)
		n = (b - a + s - 1) / s;
	else if (s < 0 && b < a)
		n = (a - b - s - 1) / -s;
	if (!lmi_run_step(run, (uint64_t)length / 64))
		return v;
	if (v.kind == LMI_V_RANGE)
		return slice_range(run, v.u.range, a, n, s);
	if (v.kind == LMI_V_STR)
		return slice_str(run, v, a, n, s, length);
	out = lmi_list_new(run);
	if (v.kind == LMI_V_BYTES) {
		struct lmi_buf buf = {.run = run};

		for (int64_t i = 0; i < n && lmi_run_step(run, 1); i++, a += s)
			lmi_buf_add(&buf, v.u.s + a, 1);
		out = lmi_buf_done(&buf);
		out.kind = LMI_V_BYTES;
		return out;
	}
	for (int64_t i = 0; i < n && lmi_run_step(run, 1); i++, a += s)
		lmi_list_add(run, out.u.list, v.u.list->v[a]);
	out.kind = v.kind;
	return out;
}
