/* SPDX-License-Identifier: MIT
 *
 * Selects attributes of items, and implements the filters that apply a filter, a test or an
 * attribute to each item: map, select, reject, selectattr, rejectattr, groupby, unique, min, max,
 * sum, sort. */
#include "core/jinja/attr_select.h"

#include <string.h>

static void add_part(struct lmi_jinja_run *run, struct lmi_jinja_list *parts, const char *s,
		     size_t n)
{
	int64_t number = 0;

	for (size_t i = 0; i < n && number >= 0; i++)
		number = s[i] >= '0' && s[i] <= '9' && i < 9 ? number * 10 + s[i] - '0' : -1;
	lmi_jinja_list_add(run, parts,
			   n && number >= 0 ? lmi_jinja_int(number) : lmi_jinja_strn(s, n));
}

struct lmi_jinja_attr_selector
lmi_jinja_attr_selector_make(struct lmi_jinja_run *run, struct lmi_jinja_val attribute, bool fold)
{
	struct lmi_jinja_list *parts = lmi_jinja_list_new(run).u.list;
	struct lmi_jinja_attr_selector p = {
		.parts = parts, .fallback = lmi_jinja_missing(), .fold = fold};
	uint32_t from = 0;

	if (!lmi_jinja_val_is_given(attribute) || attribute.kind == LMI_JINJA_V_NONE)
		return p;
	if (lmi_jinja_is_integer(attribute)) {
		lmi_jinja_list_add(run, parts, attribute);
		return p;
	}
	attribute = lmi_jinja_param_str(run, attribute, "", "an attribute");
	for (uint32_t i = 0; i <= attribute.n && lmi_jinja_run_step(run, 1); i++) {
		if (i < attribute.n && attribute.u.s[i] != '.')
			continue;
		add_part(run, parts, attribute.u.s + from, i - from);
		from = i + 1;
	}
	return p;
}

struct lmi_jinja_val lmi_jinja_attr_select(struct lmi_jinja_run *run,
					   const struct lmi_jinja_attr_selector *p,
					   struct lmi_jinja_val item)
{
	for (uint32_t i = 0; i < p->parts->n && lmi_jinja_run_step(run, 1); i++) {
		item = lmi_jinja_val_item(run, item, p->parts->v[i]);
		if (item.kind == LMI_JINJA_V_UNDEF && lmi_jinja_val_is_given(p->fallback) &&
		    p->fallback.kind != LMI_JINJA_V_NONE)
			item = p->fallback;
	}
	if (p->fold && item.kind == LMI_JINJA_V_STR)
		item = lmi_jinja_str_case(run, item, LMI_JINJA_STR_LOWER);
	return item;
}

struct lmi_jinja_list *lmi_jinja_attr_select_all(struct lmi_jinja_run *run,
						 const struct lmi_jinja_attr_selector *p,
						 const struct lmi_jinja_list *items)
{
	struct lmi_jinja_list *out = lmi_jinja_list_new(run).u.list;

	for (uint32_t i = 0; i < items->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, out, lmi_jinja_attr_select(run, p, items->v[i]));
	return run->failed ? NULL : out;
}

struct lmi_jinja_list *lmi_jinja_attr_select_keys(struct lmi_jinja_run *run,
						  struct lmi_jinja_val attribute, bool fold,
						  const struct lmi_jinja_list *items)
{
	struct lmi_jinja_list *out = lmi_jinja_list_new(run).u.list,
			      *names = lmi_jinja_list_new(run).u.list;
	struct lmi_jinja_attr_selector *picks;
	uint32_t from = 0;

	if (lmi_jinja_val_is_given(attribute) && attribute.kind == LMI_JINJA_V_STR) {
		for (uint32_t i = 0; i <= attribute.n && lmi_jinja_run_step(run, 1); i++) {
			if (i < attribute.n && attribute.u.s[i] != ',')
				continue;
			lmi_jinja_list_add(run, names,
					   lmi_jinja_strn(attribute.u.s + from, i - from));
			from = i + 1;
		}
	} else {
		lmi_jinja_list_add(run, names, attribute);
	}
	picks = lmi_jinja_run_alloc(run, names->n * sizeof(*picks) + 1);
	if (!picks)
		return NULL;
	for (uint32_t k = 0; k < names->n; k++)
		picks[k] = lmi_jinja_attr_selector_make(run, names->v[k], fold);
	for (uint32_t i = 0; i < items->n && lmi_jinja_run_step(run, names->n); i++) {
		struct lmi_jinja_val key = lmi_jinja_list_new(run);

		for (uint32_t k = 0; k < names->n; k++)
			lmi_jinja_list_add(run, key.u.list,
					   lmi_jinja_attr_select(run, &picks[k], items->v[i]));
		lmi_jinja_list_add(run, out, key);
	}
	return run->failed ? NULL : out;
}

/* Copies the items into a list that may be modified. */
static struct lmi_jinja_list *copy_items(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	const struct lmi_jinja_list *items = lmi_jinja_val_items(run, v);
	struct lmi_jinja_list *out = lmi_jinja_list_new(run).u.list;

	for (uint32_t i = 0; items && i < items->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, out, items->v[i]);
	return run->failed ? NULL : out;
}

static struct lmi_jinja_val list_value(struct lmi_jinja_list *l)
{
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_LIST, .u.list = l};
}

/* sort, unique, min, max, sum, groupby */

static LMI_JINJA_BUILTIN(f_sort)
{
	struct lmi_jinja_list *items = copy_items(run, self), *keys;

	if (!items)
		return lmi_jinja_none();
	keys = lmi_jinja_attr_select_keys(run, a[2], !lmi_jinja_param_truth(a[1], false), items);
	if (keys)
		lmi_jinja_list_sort(run, items, keys, lmi_jinja_param_truth(a[0], false));
	return list_value(items);
}

static LMI_JINJA_BUILTIN(f_unique)
{
	struct lmi_jinja_attr_selector p =
		lmi_jinja_attr_selector_make(run, a[1], !lmi_jinja_param_truth(a[0], false));
	const struct lmi_jinja_list *items = lmi_jinja_val_items(run, self);
	struct lmi_jinja_val out = lmi_jinja_list_new(run), seen = lmi_jinja_dict_new(run);

	for (uint32_t i = 0; items && i < items->n && lmi_jinja_run_step(run, 1); i++) {
		struct lmi_jinja_val key = lmi_jinja_attr_select(run, &p, items->v[i]);

		if (lmi_jinja_dict_find(run, seen.u.dict, key) || run->failed)
			continue;
		lmi_jinja_dict_set(run, seen.u.dict, key, lmi_jinja_none());
		lmi_jinja_list_add(run, out.u.list, items->v[i]);
	}
	return lmi_jinja_iter_new(run, out);
}

static struct lmi_jinja_val extreme(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				    const struct lmi_jinja_val *a, enum lmi_jinja_cmp better)
{
	struct lmi_jinja_attr_selector p =
		lmi_jinja_attr_selector_make(run, a[1], !lmi_jinja_param_truth(a[0], false));
	const struct lmi_jinja_list *items = lmi_jinja_val_items(run, self), *keys;
	uint32_t best = 0;

	if (!items || !items->n)
		return lmi_jinja_undef("minimum or maximum of an empty sequence", 39);
	keys = lmi_jinja_attr_select_all(run, &p, items);
	for (uint32_t i = 1; keys && i < keys->n && lmi_jinja_run_step(run, 1); i++) {
		if (lmi_jinja_val_compare(run, better, keys->v[i], keys->v[best]))
			best = i;
	}
	return items->v[best];
}

static LMI_JINJA_BUILTIN(f_min)
{
	return extreme(run, self, a, LMI_JINJA_CMP_LT);
}

static LMI_JINJA_BUILTIN(f_max)
{
	return extreme(run, self, a, LMI_JINJA_CMP_GT);
}

static LMI_JINJA_BUILTIN(f_sum)
{
	struct lmi_jinja_attr_selector p = lmi_jinja_attr_selector_make(run, a[0], false);
	const struct lmi_jinja_list *items = lmi_jinja_val_items(run, self);
	struct lmi_jinja_val sum = lmi_jinja_val_is_given(a[1]) ? a[1] : lmi_jinja_int(0);

	if (items && lmi_jinja_val_is_given(a[0]) && a[0].kind != LMI_JINJA_V_NONE)
		items = lmi_jinja_attr_select_all(run, &p, items);
	if (sum.kind == LMI_JINJA_V_STR)
		lmi_jinja_run_fail(run, "sum() can't sum strings; use join");
	for (uint32_t i = 0; items && i < items->n && lmi_jinja_run_step(run, 1); i++)
		sum = lmi_jinja_val_binary(run, LMI_JINJA_OP_ADD, sum, items->v[i]);
	return sum;
}

static LMI_JINJA_BUILTIN(f_groupby)
{
	bool fold = !lmi_jinja_param_truth(a[2], false);
	struct lmi_jinja_attr_selector p = lmi_jinja_attr_selector_make(run, a[0], fold),
				       plain = lmi_jinja_attr_selector_make(run, a[0], false);
	struct lmi_jinja_list *items = copy_items(run, self), *keys;
	struct lmi_jinja_val out = lmi_jinja_list_new(run), group = lmi_jinja_none();

	p.fallback = plain.fallback = a[1];
	if (!items)
		return out;
	keys = lmi_jinja_attr_select_all(run, &p, items);
	if (!keys)
		return out;
	lmi_jinja_list_sort(run, items, keys, false);
	keys = lmi_jinja_attr_select_all(run, &p, items);
	for (uint32_t i = 0; keys && i < items->n && lmi_jinja_run_step(run, 1); i++) {
		if (!i || !lmi_jinja_val_equal(run, keys->v[i], keys->v[i - 1])) {
			struct lmi_jinja_val t = lmi_jinja_tuple2(
				run, lmi_jinja_attr_select(run, &plain, items->v[i]),
				group = lmi_jinja_list_new(run));

			t.flags = LMI_JINJA_VF_GROUP;
			lmi_jinja_list_add(run, out.u.list, t);
		}
		lmi_jinja_list_add(run, group.u.list, items->v[i]);
	}
	return out;
}

/* map and the like */

static const struct lmi_jinja_kwarg *kwarg(const struct lmi_jinja_call_args *args, const char *name)
{
	for (uint32_t i = 0; i < args->n_kw; i++) {
		if (args->kw[i].name.len == strlen(name) &&
		    !memcmp(args->kw[i].name.ptr, name, args->kw[i].name.len))
			return &args->kw[i];
	}
	return NULL;
}

static struct lmi_jinja_val map_attribute(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					  const struct lmi_jinja_call_args *args)
{
	const struct lmi_jinja_kwarg *def = kwarg(args, "default");
	struct lmi_jinja_attr_selector p =
		lmi_jinja_attr_selector_make(run, kwarg(args, "attribute")->v, false);
	const struct lmi_jinja_list *items;
	struct lmi_jinja_val out = lmi_jinja_list_new(run);

	if (args->n_kw != 1u + (def != NULL))
		lmi_jinja_run_fail(run, "map: unexpected named argument");
	if (def)
		p.fallback = def->v;
	items = lmi_jinja_val_items(run, self);
	for (uint32_t i = 0; items && i < items->n && lmi_jinja_run_step(run, 1); i++) {
		struct lmi_jinja_val v = lmi_jinja_attr_select(run, &p, items->v[i]);

		if (!run->failed)
			lmi_jinja_list_add(run, out.u.list, v);
	}
	return lmi_jinja_iter_new(run, out);
}

static struct lmi_jinja_val f_map(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				  const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_call_args rest = *args;
	const struct lmi_jinja_builtin *f;
	const struct lmi_jinja_list *items;
	struct lmi_jinja_val out = lmi_jinja_list_new(run), name;

	if (!lmi_jinja_val_truth(self))
		return lmi_jinja_iter_new(run, out);
	if (!args->n_pos && kwarg(args, "attribute"))
		return map_attribute(run, self, args);
	if (!args->n_pos) {
		lmi_jinja_run_fail(run, "map requires a filter argument");
		return lmi_jinja_none();
	}
	name = lmi_jinja_param_str(run, args->pos[0], "", "the name of a filter");
	f = lmi_jinja_filter_find(name.u.s, name.n);
	if (!f)
		lmi_jinja_run_fail(run, "unknown filter '%.*s'", (int)name.n, name.u.s);
	rest.pos++;
	rest.n_pos--;
	items = lmi_jinja_val_items(run, self);
	for (uint32_t i = 0; f && items && i < items->n && lmi_jinja_run_step(run, 1); i++) {
		struct lmi_jinja_val v = lmi_jinja_builtin_call(run, f, items->v[i], &rest);

		if (!run->failed)
			lmi_jinja_list_add(run, out.u.list, v);
	}
	return lmi_jinja_iter_new(run, out);
}

/* Selects the items that pass (want) or fail a test; by_attribute tests an attribute of each
 * item. */
static struct lmi_jinja_val choose(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				   const struct lmi_jinja_call_args *args, bool by_attribute,
				   bool want)
{
	struct lmi_jinja_call_args rest = *args;
	const struct lmi_jinja_builtin *test = NULL;
	const struct lmi_jinja_list *items;
	struct lmi_jinja_val out = lmi_jinja_list_new(run);
	struct lmi_jinja_attr_selector p;

	if (!lmi_jinja_val_truth(self))
		return lmi_jinja_iter_new(run, out);
	if (by_attribute && !args->n_pos) {
		lmi_jinja_run_fail(run, "missing attribute name");
		return lmi_jinja_none();
	}
	p = lmi_jinja_attr_selector_make(run, by_attribute ? args->pos[0] : lmi_jinja_none(),
					 false);
	if (by_attribute) {
		rest.pos++;
		rest.n_pos--;
	}
	if (rest.n_pos) {
		struct lmi_jinja_val name =
			lmi_jinja_param_str(run, rest.pos[0], "", "the name of a test");

		test = lmi_jinja_test_find(name.u.s, name.n);
		if (!test)
			lmi_jinja_run_fail(run, "unknown test '%.*s'", (int)name.n, name.u.s);
		rest.pos++;
		rest.n_pos--;
	}
	items = lmi_jinja_val_items(run, self);
	for (uint32_t i = 0; items && i < items->n && lmi_jinja_run_step(run, 1); i++) {
		struct lmi_jinja_val v = lmi_jinja_attr_select(run, &p, items->v[i]);

		if (test)
			v = lmi_jinja_builtin_call(run, test, v, &rest);
		if (!run->failed && lmi_jinja_val_truth(v) == want)
			lmi_jinja_list_add(run, out.u.list, items->v[i]);
	}
	return lmi_jinja_iter_new(run, out);
}

static struct lmi_jinja_val f_select(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_call_args *args)
{
	return choose(run, self, args, false, true);
}

static struct lmi_jinja_val f_reject(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				     const struct lmi_jinja_call_args *args)
{
	return choose(run, self, args, false, false);
}

static struct lmi_jinja_val f_selectattr(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_call_args *args)
{
	return choose(run, self, args, true, true);
}

static struct lmi_jinja_val f_rejectattr(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_call_args *args)
{
	return choose(run, self, args, true, false);
}

static LMI_JINJA_BUILTIN(f_attr)
{
	struct lmi_jinja_val name = lmi_jinja_val_text(run, a[0]), out;

	if (self.kind == LMI_JINJA_V_UNDEF && !(name.n > 1 && !memcmp(name.u.s, "__", 2))) {
		lmi_jinja_run_fail(run, "'%.*s' is undefined", (int)self.n, self.u.s);
		return self;
	}
	return lmi_jinja_val_find_attr(run, self, name.u.s, name.n, &out)
		       ? out
		       : lmi_jinja_undef(name.u.s, name.n);
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "sort", .fn = f_sort, .params = "reverse case_sensitive attribute"},
	{.name = "unique", .fn = f_unique, .params = "case_sensitive attribute"},
	{.name = "min", .fn = f_min, .params = "case_sensitive attribute"},
	{.name = "max", .fn = f_max, .params = "case_sensitive attribute"},
	{.name = "sum", .fn = f_sum, .params = "attribute start"},
	{.name = "groupby",
	 .fn = f_groupby,
	 .params = "attribute default case_sensitive",
	 .n_required = 1},
	{.name = "map", .raw = f_map},
	{.name = "select", .raw = f_select},
	{.name = "reject", .raw = f_reject},
	{.name = "selectattr", .raw = f_selectattr},
	{.name = "rejectattr", .raw = f_rejectattr},
	{.name = "attr", .fn = f_attr, .params = "name", .n_required = 1},
};

const struct lmi_jinja_table lmi_jinja_pick_filters = LMI_JINJA_TABLE(rows);
