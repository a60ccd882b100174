/* SPDX-License-Identifier: MIT
 *
 * Filters on whole lists: ends, order, batches, and pairs of dictionaries. */
#include "core/jinja/attr_select.h"
#include "llamad/sampler.h"

static LMI_JINJA_BUILTIN(f_first)
{
	const struct lmi_jinja_list *l;
	struct lmi_jinja_iter *it = self.kind == LMI_JINJA_V_ITER ? self.u.iter : NULL;

	(void)a;
	/* takes one item from an iterator and leaves the rest */
	if (it && it->at < it->items->n)
		return it->items->v[it->at++];
	l = lmi_jinja_val_items(run, self);
	return l && l->n ? l->v[0] : lmi_jinja_undef("first item of an empty sequence", 31);
}

static LMI_JINJA_BUILTIN(f_last)
{
	const struct lmi_jinja_list *l;

	(void)a;
	if (self.kind == LMI_JINJA_V_ITER) {
		lmi_jinja_run_fail(run, "'generator' object is not reversible");
		return lmi_jinja_none();
	}
	l = lmi_jinja_val_items(run, self);
	return l && l->n ? l->v[l->n - 1] : lmi_jinja_undef("last item of an empty sequence", 30);
}

static LMI_JINJA_BUILTIN(f_length)
{
	int64_t n = lmi_jinja_val_length(self);

	(void)a;
	if (self.kind == LMI_JINJA_V_LOOP)
		return lmi_jinja_val_attr(run, self, "length", 6);
	if (n < 0)
		lmi_jinja_run_fail(run, "object of type '%s' has no len()",
				   lmi_jinja_val_type(self));
	return lmi_jinja_int(n);
}

static LMI_JINJA_BUILTIN(f_list)
{
	const struct lmi_jinja_list *l = lmi_jinja_val_items(run, self);
	struct lmi_jinja_val out = lmi_jinja_list_new(run);

	(void)a;
	for (uint32_t i = 0; l && i < l->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, out.u.list, l->v[i]);
	return out;
}

static LMI_JINJA_BUILTIN(f_join)
{
	struct lmi_jinja_val sep = lmi_jinja_val_is_given(a[0]) ? lmi_jinja_val_text(run, a[0])
								: lmi_jinja_strn("", 0);
	const struct lmi_jinja_list *l = lmi_jinja_val_items(run, self);
	bool safe;

	if (l && lmi_jinja_val_is_given(a[1]) && a[1].kind != LMI_JINJA_V_NONE) {
		struct lmi_jinja_attr_selector p = lmi_jinja_attr_selector_make(run, a[1], false);

		l = lmi_jinja_attr_select_all(run, &p, l);
	}
	if (!l)
		return lmi_jinja_none();
	/* without autoescape the safe flag is lost; with it, one safe string causes the others to
	 * be escaped */
	safe = run->autoescape && sep.flags & LMI_JINJA_VF_SAFE;
	for (uint32_t i = 0; run->autoescape && i < l->n; i++)
		safe |= l->v[i].kind == LMI_JINJA_V_STR && l->v[i].flags & LMI_JINJA_VF_SAFE;
	sep.flags = safe ? sep.flags : 0;
	return lmi_jinja_str_join(run, safe ? lmi_jinja_val_escape(run, sep) : sep, l, true);
}

static LMI_JINJA_BUILTIN(f_reverse)
{
	const struct lmi_jinja_list *l;
	struct lmi_jinja_val out = lmi_jinja_list_new(run);

	(void)a;
	if (self.kind == LMI_JINJA_V_STR)
		return lmi_jinja_val_slice(run, self, lmi_jinja_none(), lmi_jinja_none(),
					   lmi_jinja_int(-1));
	l = lmi_jinja_val_items(run, self);
	for (uint32_t i = l ? l->n : 0; i-- > 0 && lmi_jinja_run_step(run, 1);)
		lmi_jinja_list_add(run, out.u.list, l->v[i]);
	return self.kind == LMI_JINJA_V_ITER || run->failed ? out : lmi_jinja_iter_new(run, out);
}

/* A batch is full when its length equals the size; with size 0 each batch is full from the
 * start. */
static LMI_JINJA_BUILTIN(f_batch)
{
	const struct lmi_jinja_list *l = lmi_jinja_val_items(run, self);
	struct lmi_jinja_val out = lmi_jinja_list_new(run), part = lmi_jinja_list_new(run);
	bool fill = lmi_jinja_val_is_given(a[1]) && a[1].kind != LMI_JINJA_V_NONE;

	for (uint32_t i = 0; l && i < l->n && lmi_jinja_run_step(run, 1); i++) {
		if (lmi_jinja_val_equal(run, lmi_jinja_int(part.u.list->n), a[0])) {
			lmi_jinja_list_add(run, out.u.list, part);
			part = lmi_jinja_list_new(run);
		}
		lmi_jinja_list_add(run, part.u.list, l->v[i]);
	}
	if (part.u.list->n)
		lmi_jinja_list_add(run, out.u.list, part);
	while (part.u.list->n && fill && lmi_jinja_run_step(run, 1) &&
	       lmi_jinja_val_compare(run, LMI_JINJA_CMP_LT, lmi_jinja_int(part.u.list->n), a[0]))
		lmi_jinja_list_add(run, part.u.list, a[1]);
	return lmi_jinja_iter_new(run, out);
}

static LMI_JINJA_BUILTIN(f_slice)
{
	const struct lmi_jinja_list *l = lmi_jinja_val_items(run, self);
	int64_t n = lmi_jinja_param_int(run, a[0], 0, "the number of slices"), at = 0;
	struct lmi_jinja_val out = lmi_jinja_list_new(run);

	if (!n)
		lmi_jinja_run_fail(run, "division by zero");
	for (int64_t k = 0; l && k < n && lmi_jinja_run_step(run, 1); k++) {
		struct lmi_jinja_val part = lmi_jinja_list_new(run);
		int64_t size = l->n / n + (k < l->n % n);

		for (int64_t i = 0; i < size && lmi_jinja_run_step(run, 1); i++)
			lmi_jinja_list_add(run, part.u.list, l->v[at++]);
		if (lmi_jinja_val_is_given(a[1]) && a[1].kind != LMI_JINJA_V_NONE && k >= l->n % n)
			lmi_jinja_list_add(run, part.u.list, a[1]);
		lmi_jinja_list_add(run, out.u.list, part);
	}
	return lmi_jinja_iter_new(run, out);
}

/* The (key, value) pairs of a dictionary. */
static struct lmi_jinja_list *pairs(struct lmi_jinja_run *run, const struct lmi_jinja_dict *d)
{
	struct lmi_jinja_list *out = lmi_jinja_list_new(run).u.list;

	for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, out, lmi_jinja_tuple2(run, d->e[i].key, d->e[i].value));
	return out;
}

static LMI_JINJA_BUILTIN(f_items)
{
	struct lmi_jinja_val out = lmi_jinja_list_new(run);

	(void)a;
	if (self.kind == LMI_JINJA_V_DICT)
		out.u.list = pairs(run, self.u.dict);
	else if (self.kind != LMI_JINJA_V_UNDEF)
		lmi_jinja_run_fail(run, "items needs a mapping, not %s", lmi_jinja_val_type(self));
	return lmi_jinja_iter_new(run, out);
}

static LMI_JINJA_BUILTIN(f_dictsort)
{
	struct lmi_jinja_val by = lmi_jinja_param_str(run, a[1], "key", "by"),
			     out = lmi_jinja_list_new(run);
	struct lmi_jinja_attr_selector p;
	struct lmi_jinja_list *keys;

	if (!lmi_jinja_str_eq(by, "key") && !lmi_jinja_str_eq(by, "value")) {
		lmi_jinja_run_fail(run, "dictsort: by must be 'key' or 'value'");
		return out;
	}
	if (self.kind != LMI_JINJA_V_DICT) {
		lmi_jinja_run_fail(run, "dictsort needs a dictionary, not %s",
				   lmi_jinja_val_type(self));
		return out;
	}
	out.u.list = pairs(run, self.u.dict);
	p = lmi_jinja_attr_selector_make(run, lmi_jinja_int(lmi_jinja_str_eq(by, "value")),
					 !lmi_jinja_param_truth(a[0], false));
	keys = lmi_jinja_attr_select_all(run, &p, out.u.list);
	if (keys)
		lmi_jinja_list_sort(run, out.u.list, keys, lmi_jinja_param_truth(a[2], false));
	return out;
}

/* Pseudo-random, but the same in every rendering. */
static LMI_JINJA_BUILTIN(f_random)
{
	const struct lmi_jinja_list *l = lmi_jinja_val_items(run, self);

	(void)a;
	if (!l || !l->n)
		return lmi_jinja_undef("random item of an empty sequence", 32);
	return l->v[(uint32_t)(lmd_sample_rand(0, run->n_random++, 0) * (float)l->n) % l->n];
}

static const struct lmi_jinja_builtin rows[] = {
	{.name = "first", .fn = f_first, .params = ""},
	{.name = "last", .fn = f_last, .params = ""},
	{.name = "length", .fn = f_length, .params = ""},
	{.name = "count", .fn = f_length, .params = ""},
	{.name = "list", .fn = f_list, .params = ""},
	{.name = "join", .fn = f_join, .params = "d attribute"},
	{.name = "reverse", .fn = f_reverse, .params = ""},
	{.name = "batch", .fn = f_batch, .params = "linecount fill_with", .n_required = 1},
	{.name = "slice", .fn = f_slice, .params = "slices fill_with", .n_required = 1},
	{.name = "items", .fn = f_items, .params = ""},
	{.name = "dictsort", .fn = f_dictsort, .params = "case_sensitive by reverse"},
	{.name = "random", .fn = f_random, .params = ""},
};

const struct lmi_jinja_table lmi_jinja_list_filters = LMI_JINJA_TABLE(rows);
