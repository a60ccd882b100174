/* SPDX-License-Identifier: MIT
 *
 * Filters on whole lists: ends, order, batches, and pairs of dictionaries. */
#include "core/text/template/pick.h"
#include "llamad/sampler.h"

static LMI_BUILTIN(f_first)
{
	const struct lmi_list *l;
	struct lmi_iter *it = self.kind == LMI_V_ITER ? self.u.iter : NULL;

	(void)a;
	/* takes one item from an iterator and leaves the rest */
	if (it && it->at < it->items->n)
		return it->items->v[it->at++];
	l = lmi_val_items(run, self);
	return l && l->n ? l->v[0] : lmi_undef("first item of an empty sequence", 31);
}

static LMI_BUILTIN(f_last)
{
	const struct lmi_list *l;

	(void)a;
	if (self.kind == LMI_V_ITER) {
		lmi_run_fail(run, "'generator' object is not reversible");
		return lmi_none();
	}
	l = lmi_val_items(run, self);
	return l && l->n ? l->v[l->n - 1] : lmi_undef("last item of an empty sequence", 30);
}

static LMI_BUILTIN(f_length)
{
	int64_t n = lmi_val_length(self);

	(void)a;
	if (self.kind == LMI_V_LOOP)
		return lmi_val_attr(run, self, "length", 6);
	if (n < 0)
		lmi_run_fail(run, "object of type '%s' has no len()", lmi_val_type(self));
	return lmi_int(n);
}

static LMI_BUILTIN(f_list)
{
	const struct lmi_list *l = lmi_val_items(run, self);
	struct lmi_val out = lmi_list_new(run);

	(void)a;
	for (uint32_t i = 0; l && i < l->n && lmi_run_step(run, 1); i++)
		lmi_list_add(run, out.u.list, l->v[i]);
	return out;
}

static LMI_BUILTIN(f_join)
{
	struct lmi_val sep = lmi_given(a[0]) ? lmi_val_text(run, a[0]) : lmi_strn("", 0);
	const struct lmi_list *l = lmi_val_items(run, self);
	bool safe;

	if (l && lmi_given(a[1]) && a[1].kind != LMI_V_NONE) {
		struct lmi_pick p = lmi_pick_make(run, a[1], false);

		l = lmi_pick_all(run, &p, l);
	}
	if (!l)
		return lmi_none();
	/* without autoescape the safe flag is lost; with it, one safe string causes the others to
	 * be escaped */
	safe = run->autoescape && sep.flags & LMI_VF_SAFE;
	for (uint32_t i = 0; run->autoescape && i < l->n; i++)
		safe |= l->v[i].kind == LMI_V_STR && l->v[i].flags & LMI_VF_SAFE;
	sep.flags = safe ? sep.flags : 0;
	return lmi_str_join(run, safe ? lmi_val_escape(run, sep) : sep, l, true);
}

static LMI_BUILTIN(f_reverse)
{
	const struct lmi_list *l;
	struct lmi_val out = lmi_list_new(run);

	(void)a;
	if (self.kind == LMI_V_STR)
		return lmi_val_slice(run, self, lmi_none(), lmi_none(), lmi_int(-1));
	l = lmi_val_items(run, self);
	for (uint32_t i = l ? l->n : 0; i-- > 0 && lmi_run_step(run, 1);)
		lmi_list_add(run, out.u.list, l->v[i]);
	return self.kind == LMI_V_ITER || run->failed ? out : lmi_iter_new(run, out);
}

/* A batch is full when its length equals the size; with size 0 each batch is full from the
 * start. */
static LMI_BUILTIN(f_batch)
{
	const struct lmi_list *l = lmi_val_items(run, self);
	struct lmi_val out = lmi_list_new(run), part = lmi_list_new(run);
	bool fill = lmi_given(a[1]) && a[1].kind != LMI_V_NONE;

	for (uint32_t i = 0; l && i < l->n && lmi_run_step(run, 1); i++) {
		if (lmi_val_equal(run, lmi_int(part.u.list->n), a[0])) {
			lmi_list_add(run, out.u.list, part);
			part = lmi_list_new(run);
		}
		lmi_list_add(run, part.u.list, l->v[i]);
	}
	if (part.u.list->n)
		lmi_list_add(run, out.u.list, part);
	while (part.u.list->n && fill && lmi_run_step(run, 1) &&
	       lmi_val_compare(run, LMI_CMP_LT, lmi_int(part.u.list->n), a[0]))
		lmi_list_add(run, part.u.list, a[1]);
	return lmi_iter_new(run, out);
}

static LMI_BUILTIN(f_slice)
{
	const struct lmi_list *l = lmi_val_items(run, self);
	int64_t n = lmi_param_int(run, a[0], 0, "the number of slices"), at = 0;
	struct lmi_val out = lmi_list_new(run);

	if (!n)
		lmi_run_fail(run, "division by zero");
	for (int64_t k = 0; l && k < n && lmi_run_step(run, 1); k++) {
		struct lmi_val part = lmi_list_new(run);
		int64_t size = l->n / n + (k < l->n % n);

		for (int64_t i = 0; i < size && lmi_run_step(run, 1); i++)
			lmi_list_add(run, part.u.list, l->v[at++]);
		if (lmi_given(a[1]) && a[1].kind != LMI_V_NONE && k >= l->n % n)
			lmi_list_add(run, part.u.list, a[1]);
		lmi_list_add(run, out.u.list, part);
	}
	return lmi_iter_new(run, out);
}

/* The (key, value) pairs of a dictionary. */
static struct lmi_list *pairs(struct lmi_run *run, const struct lmi_dict *d)
{
	struct lmi_list *out = lmi_list_new(run).u.list;

	for (uint32_t i = 0; i < d->n && lmi_run_step(run, 1); i++)
		lmi_list_add(run, out, lmi_tuple2(run, d->e[i].key, d->e[i].value));
	return out;
}

static LMI_BUILTIN(f_items)
{
	struct lmi_val out = lmi_list_new(run);

	(void)a;
	if (self.kind == LMI_V_DICT)
		out.u.list = pairs(run, self.u.dict);
	else if (self.kind != LMI_V_UNDEF)
		lmi_run_fail(run, "items needs a mapping, not %s", lmi_val_type(self));
	return lmi_iter_new(run, out);
}

static LMI_BUILTIN(f_dictsort)
{
	struct lmi_val by = lmi_param_str(run, a[1], "key", "by"), out = lmi_list_new(run);
	struct lmi_pick p;
	struct lmi_list *keys;

	if (!lmi_str_eq(by, "key") && !lmi_str_eq(by, "value")) {
		lmi_run_fail(run, "dictsort: by must be 'key' or 'value'");
		return out;
	}
	if (self.kind != LMI_V_DICT) {
		lmi_run_fail(run, "dictsort needs a dictionary, not %s", lmi_val_type(self));
		return out;
	}
	out.u.list = pairs(run, self.u.dict);
	p = lmi_pick_make(run, lmi_int(lmi_str_eq(by, "value")), !lmi_param_truth(a[0], false));
	keys = lmi_pick_all(run, &p, out.u.list);
	if (keys)
		lmi_list_sort(run, out.u.list, keys, lmi_param_truth(a[2], false));
	return out;
}

/* Pseudo-random, but the same in every rendering. */
static LMI_BUILTIN(f_random)
{
	const struct lmi_list *l = lmi_val_items(run, self);

	(void)a;
	if (!l || !l->n)
		return lmi_undef("random item of an empty sequence", 32);
	return l->v[(uint32_t)(lmd_sample_rand(0, run->n_random++, 0) * (float)l->n) % l->n];
}

static const struct lmi_builtin rows[] = {
	{ .name = "first", .fn = f_first, .params = "" },
	{ .name = "last", .fn = f_last, .params = "" },
	{ .name = "length", .fn = f_length, .params = "" },
	{ .name = "count", .fn = f_length, .params = "" },
	{ .name = "list", .fn = f_list, .params = "" },
	{ .name = "join", .fn = f_join, .params = "d attribute" },
	{ .name = "reverse", .fn = f_reverse, .params = "" },
	{ .name = "batch", .fn = f_batch, .params = "linecount fill_with", .n_required = 1 },
	{ .name = "slice", .fn = f_slice, .params = "slices fill_with", .n_required = 1 },
	{ .name = "items", .fn = f_items, .params = "" },
	{ .name = "dictsort", .fn = f_dictsort, .params = "case_sensitive by reverse" },
	{ .name = "random", .fn = f_random, .params = "" },
};

const struct lmi_table lmi_list_filters = LMI_TABLE(rows);
