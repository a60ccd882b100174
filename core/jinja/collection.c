/* SPDX-License-Identifier: MIT
 *
 * Sorting, and the methods of lists, tuples and dictionaries. */
#include <string.h>

#include "core/jinja/builtin.h"

/* Merges the sorted runs [lo, mid) and [mid, hi) of indices from `a` into `b`. */
static void merge(struct lmi_jinja_run *run, const struct lmi_jinja_val *key, bool reverse,
		  const uint32_t *a, uint32_t *b, uint32_t lo, uint32_t mid, uint32_t hi)
{
	uint32_t i = lo, j = mid;

	for (uint32_t k = lo; k < hi; k++) {
		bool right = i == mid;

		if (i < mid && j < hi && lmi_jinja_run_step(run, 1))
			right = reverse ? lmi_jinja_val_compare(run, LMI_JINJA_CMP_LT, key[a[i]],
								key[a[j]])
					: lmi_jinja_val_compare(run, LMI_JINJA_CMP_LT, key[a[j]],
								key[a[i]]);
		b[k] = right && j < hi ? a[j++] : a[i++];
	}
}

void lmi_jinja_list_sort(struct lmi_jinja_run *run, struct lmi_jinja_list *items,
			 const struct lmi_jinja_list *keys, bool reverse)
{
	uint32_t n = items->n, *a, *b;
	struct lmi_jinja_val *sorted;

	if (n < 2 || !lmi_jinja_run_step(run, n / 4))
		return;
	a = lmi_jinja_run_alloc(run, n * sizeof(*a));
	b = lmi_jinja_run_alloc(run, n * sizeof(*b));
	sorted = lmi_jinja_run_alloc(run, n * sizeof(*sorted));
	if (!a || !b || !sorted)
		return;
	for (uint32_t i = 0; i < n; i++)
		a[i] = i;
	for (uint64_t width = 1; width < n && !run->failed; width *= 2) {
		for (uint64_t lo = 0; lo < n; lo += 2 * width) {
			uint64_t mid = lo + width < n ? lo + width : n;
			uint64_t hi = lo + 2 * width < n ? lo + 2 * width : n;

			merge(run, keys ? keys->v : items->v, reverse, a, b, (uint32_t)lo,
			      (uint32_t)mid, (uint32_t)hi);
		}
		uint32_t *t = a;

		a = b;
		b = t;
	}
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = items->v[a[i]];
	if (!run->failed)
		memcpy(items->v, sorted, n * sizeof(*sorted));
}

/* Lists */

static LMI_JINJA_BUILTIN(list_append)
{
	lmi_jinja_list_add(run, self.u.list, a[0]);
	return lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(list_extend)
{
	const struct lmi_jinja_list *items = lmi_jinja_val_items(run, a[0]);
	uint32_t n = items ? items->n : 0; /* the length before, in case both are the same list */

	for (uint32_t i = 0; i < n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, self.u.list, items->v[i]);
	return lmi_jinja_none();
}

static void list_cut(struct lmi_jinja_list *l, uint32_t i)
{
	memmove(&l->v[i], &l->v[i + 1], (l->n - i - 1) * sizeof(*l->v));
	l->n--;
}

static LMI_JINJA_BUILTIN(list_insert)
{
	struct lmi_jinja_list *l = self.u.list;
	int64_t n = l->n, i = lmi_jinja_param_int(run, a[0], 0, "the index");

	i = i < -n ? 0 : i < 0 ? i + n : i > n ? n : i;
	if (!lmi_jinja_run_step(run, (uint64_t)(n - i)))
		return lmi_jinja_none();
	lmi_jinja_list_add(run, l, a[1]);
	if (run->failed)
		return lmi_jinja_none();
	memmove(&l->v[i + 1], &l->v[i], (size_t)(n - i) * sizeof(*l->v));
	l->v[i] = a[1];
	return lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(list_pop)
{
	struct lmi_jinja_list *l = self.u.list;
	int64_t i = lmi_jinja_param_int(run, a[0], -1, "the index");
	struct lmi_jinja_val v;

	i += i < 0 ? l->n : 0;
	if (i < 0 || i >= l->n) {
		lmi_jinja_run_fail(run, l->n ? "pop index out of range" : "pop from empty list");
		return lmi_jinja_none();
	}
	v = l->v[i];
	if (lmi_jinja_run_step(run, l->n - (uint64_t)i))
		list_cut(l, (uint32_t)i);
	return v;
}

/* Index of an equal item, or -1. */
static int64_t list_find(struct lmi_jinja_run *run, const struct lmi_jinja_list *l,
			 struct lmi_jinja_val v)
{
	for (uint32_t i = 0; i < l->n && lmi_jinja_run_step(run, 1); i++) {
		if (lmi_jinja_val_equal(run, l->v[i], v))
			return i;
	}
	return -1;
}

static LMI_JINJA_BUILTIN(list_remove)
{
	int64_t i = list_find(run, self.u.list, a[0]);

	if (i >= 0)
		list_cut(self.u.list, (uint32_t)i);
	else
		lmi_jinja_run_fail(run, "list.remove(x): x not in list");
	return lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(list_index)
{
	int64_t i = list_find(run, self.u.list, a[0]);

	if (i < 0)
		lmi_jinja_run_fail(run, "x is not in the list");
	return lmi_jinja_int(i);
}

static LMI_JINJA_BUILTIN(list_count)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < self.u.list->n && lmi_jinja_run_step(run, 1); i++)
		n += lmi_jinja_val_equal(run, self.u.list->v[i], a[0]);
	return lmi_jinja_int(n);
}

static LMI_JINJA_BUILTIN(list_copy)
{
	struct lmi_jinja_val c = lmi_jinja_list_new(run);

	(void)a;
	for (uint32_t i = 0; i < self.u.list->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, c.u.list, self.u.list->v[i]);
	return c;
}

static LMI_JINJA_BUILTIN(list_clear)
{
	(void)run;
	(void)a;
	self.u.list->n = 0;
	return lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(list_reverse)
{
	struct lmi_jinja_list *l = self.u.list;

	(void)a;
	if (!lmi_jinja_run_step(run, l->n))
		return lmi_jinja_none();
	for (uint32_t i = 0; i < l->n / 2; i++) {
		struct lmi_jinja_val t = l->v[i];

		l->v[i] = l->v[l->n - 1 - i];
		l->v[l->n - 1 - i] = t;
	}
	return lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(list_sort)
{
	struct lmi_jinja_list *keys = NULL;

	if (lmi_jinja_val_is_given(a[0]) && a[0].kind != LMI_JINJA_V_NONE) {
		keys = lmi_jinja_list_new(run).u.list;
		for (uint32_t i = 0; i < self.u.list->n && lmi_jinja_run_step(run, 1); i++) {
			struct lmi_jinja_call_args args = {.pos = &self.u.list->v[i], .n_pos = 1};

			lmi_jinja_list_add(run, keys, lmi_jinja_val_call(run, a[0], &args));
		}
		if (run->failed || keys->n != self.u.list->n)
			return lmi_jinja_none();
	}
	lmi_jinja_list_sort(run, self.u.list, keys, lmi_jinja_param_truth(a[1], false));
	return lmi_jinja_none();
}

static const struct lmi_jinja_builtin list_rows[] = {
	{.name = "append",
	 .fn = list_append,
	 .params = "object",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "extend",
	 .fn = list_extend,
	 .params = "iterable",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "insert",
	 .fn = list_insert,
	 .params = "index object",
	 .n_required = 2,
	 .pos_only = true},
	{.name = "pop", .fn = list_pop, .params = "index", .pos_only = true},
	{.name = "remove", .fn = list_remove, .params = "value", .n_required = 1, .pos_only = true},
	{.name = "index", .fn = list_index, .params = "value", .n_required = 1, .pos_only = true},
	{.name = "count", .fn = list_count, .params = "value", .n_required = 1, .pos_only = true},
	{.name = "copy", .fn = list_copy, .params = ""},
	{.name = "clear", .fn = list_clear, .params = ""},
	{.name = "reverse", .fn = list_reverse, .params = ""},
	{.name = "sort", .fn = list_sort, .params = "key reverse"},
};

const struct lmi_jinja_table lmi_jinja_list_methods = LMI_JINJA_TABLE(list_rows);

static const struct lmi_jinja_builtin tuple_rows[] = {
	{.name = "index", .fn = list_index, .params = "value", .n_required = 1, .pos_only = true},
	{.name = "count", .fn = list_count, .params = "value", .n_required = 1, .pos_only = true},
};

const struct lmi_jinja_table lmi_jinja_tuple_methods = LMI_JINJA_TABLE(tuple_rows);

/* Dictionaries */

static struct lmi_jinja_val view(struct lmi_jinja_run *run, struct lmi_jinja_val d,
				 enum lmi_jinja_view_of of)
{
	struct lmi_jinja_view *v = lmi_jinja_run_alloc(run, sizeof(*v));

	if (!v)
		return lmi_jinja_none();
	v->dict = d.u.dict;
	v->of = of;
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_VIEW, .u.view = v};
}

static LMI_JINJA_BUILTIN(dict_keys)
{
	(void)a;
	return view(run, self, LMI_JINJA_VIEW_KEYS);
}

static LMI_JINJA_BUILTIN(dict_values)
{
	(void)a;
	return view(run, self, LMI_JINJA_VIEW_VALUES);
}

static LMI_JINJA_BUILTIN(dict_items)
{
	(void)a;
	return view(run, self, LMI_JINJA_VIEW_ITEMS);
}

static LMI_JINJA_BUILTIN(dict_get)
{
	const struct lmi_jinja_val *v = lmi_jinja_dict_find(run, self.u.dict, a[0]);

	return v ? *v : lmi_jinja_val_is_given(a[1]) ? a[1] : lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(dict_setdefault)
{
	const struct lmi_jinja_val *v = lmi_jinja_dict_find(run, self.u.dict, a[0]);
	struct lmi_jinja_val def = lmi_jinja_val_is_given(a[1]) ? a[1] : lmi_jinja_none();

	if (v)
		return *v;
	lmi_jinja_dict_set(run, self.u.dict, a[0], def);
	return def;
}

static LMI_JINJA_BUILTIN(dict_pop)
{
	const struct lmi_jinja_val *p = lmi_jinja_dict_find(run, self.u.dict, a[0]);
	struct lmi_jinja_val v;

	if (!p) {
		if (!lmi_jinja_val_is_given(a[1]))
			lmi_jinja_run_fail(run, "pop: no such key");
		return a[1];
	}
	v = *p;
	(void)lmi_jinja_dict_remove(run, self.u.dict, a[0]); /* cannot fail: it was found above */
	return v;
}

static LMI_JINJA_BUILTIN(dict_popitem)
{
	struct lmi_jinja_dict *d = self.u.dict;
	struct lmi_jinja_val item;

	(void)a;
	if (!d->n) {
		lmi_jinja_run_fail(run, "popitem: the dictionary is empty");
		return lmi_jinja_none();
	}
	item = lmi_jinja_tuple2(run, d->e[d->n - 1].key, d->e[d->n - 1].value);
	(void)lmi_jinja_dict_remove(run, d,
				    d->e[d->n - 1].key); /* cannot fail: it is the last entry */
	return item;
}

static LMI_JINJA_BUILTIN(dict_clear)
{
	(void)run;
	(void)a;
	self.u.dict->n = 0;
	self.u.dict->index = NULL;
	self.u.dict->n_index = 0;
	return lmi_jinja_none();
}

static LMI_JINJA_BUILTIN(dict_copy)
{
	(void)a;
	return lmi_jinja_dict_copy(run, self.u.dict);
}

/* Adds a list of pairs or a dictionary, then the named arguments. */
void lmi_jinja_dict_update(struct lmi_jinja_run *run, struct lmi_jinja_dict *d,
			   const struct lmi_jinja_call_args *args)
{
	const struct lmi_jinja_list *items = NULL;

	if (args->n_pos > 1)
		lmi_jinja_run_fail(run, "expected at most 1 argument, got %u", args->n_pos);
	if (args->n_pos && args->pos[0].kind == LMI_JINJA_V_DICT) {
		const struct lmi_jinja_dict *from = args->pos[0].u.dict;

		for (uint32_t i = 0; i < from->n && lmi_jinja_run_step(run, 1); i++)
			lmi_jinja_dict_set(run, d, from->e[i].key, from->e[i].value);
	} else if (args->n_pos) {
		items = lmi_jinja_val_items(run, args->pos[0]);
	}
	for (uint32_t i = 0; items && i < items->n && lmi_jinja_run_step(run, 1); i++) {
		const struct lmi_jinja_list *pair = lmi_jinja_val_items(run, items->v[i]);

		if (pair && pair->n == 2)
			lmi_jinja_dict_set(run, d, pair->v[0], pair->v[1]);
		else
			lmi_jinja_run_fail(run, "element %u for a dictionary is not a pair", i);
	}
	for (uint32_t i = 0; i < args->n_kw && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_dict_set(run, d,
				   lmi_jinja_strn(args->kw[i].name.ptr, args->kw[i].name.len),
				   args->kw[i].v);
}

static struct lmi_jinja_val dict_update(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					const struct lmi_jinja_call_args *args)
{
	lmi_jinja_dict_update(run, self.u.dict, args);
	return lmi_jinja_none();
}

static const struct lmi_jinja_builtin dict_rows[] = {
	{.name = "get", .fn = dict_get, .params = "key default", .n_required = 1, .pos_only = true},
	{.name = "items", .fn = dict_items, .params = ""},
	{.name = "keys", .fn = dict_keys, .params = ""},
	{.name = "values", .fn = dict_values, .params = ""},
	{.name = "pop", .fn = dict_pop, .params = "key default", .n_required = 1, .pos_only = true},
	{.name = "popitem", .fn = dict_popitem, .params = ""},
	{.name = "setdefault",
	 .fn = dict_setdefault,
	 .params = "key default",
	 .n_required = 1,
	 .pos_only = true},
	{.name = "update", .raw = dict_update},
	{.name = "clear", .fn = dict_clear, .params = ""},
	{.name = "copy", .fn = dict_copy, .params = ""},
};

const struct lmi_jinja_table lmi_jinja_dict_methods = LMI_JINJA_TABLE(dict_rows);
