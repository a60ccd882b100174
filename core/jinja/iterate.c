/* SPDX-License-Identifier: MIT
 *
 * Iteration over values, and membership tests. */
#include <string.h>

#include "core/jinja/ops.h"
#include "core/jinja/run.h"
#include "core/unicode/unicode.h"

bool lmi_jinja_val_iterable(struct lmi_jinja_val v)
{
	return lmi_jinja_val_length(v) >= 0 || v.kind == LMI_JINJA_V_ITER ||
	       v.kind == LMI_JINJA_V_LOOP;
}

static void add_items(struct lmi_jinja_run *run, struct lmi_jinja_list *l, struct lmi_jinja_val v)
{
	const struct lmi_jinja_dict *d = v.kind == LMI_JINJA_V_VIEW ? v.u.view->dict : v.u.dict;
	const char *from;
	size_t at = 0;

	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_STR:
		while (at < v.n && lmi_jinja_run_step(run, 1)) {
			from = v.u.s + at;
			(void)lmi_unicode_next(v.u.s, v.n, &at); /* only advances the position */
			lmi_jinja_list_add(run, l,
					   lmi_jinja_strn(from, (size_t)(v.u.s + at - from)));
		}
		break;
	case LMI_JINJA_V_BYTES:
		for (; at < v.n && lmi_jinja_run_step(run, 1); at++)
			lmi_jinja_list_add(run, l, lmi_jinja_int((unsigned char)v.u.s[at]));
		break;
	case LMI_JINJA_V_RANGE:
		for (uint32_t i = 0; i < v.u.range->n && lmi_jinja_run_step(run, 1); i++)
			lmi_jinja_list_add(run, l,
					   lmi_jinja_int(v.u.range->start + i * v.u.range->step));
		break;
	case LMI_JINJA_V_DICT:
	case LMI_JINJA_V_VIEW:
		for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(run, 1); i++) {
			struct lmi_jinja_val item = d->e[i].key;

			if (v.kind == LMI_JINJA_V_VIEW && v.u.view->of == LMI_JINJA_VIEW_VALUES)
				item = d->e[i].value;
			else if (v.kind == LMI_JINJA_V_VIEW && v.u.view->of == LMI_JINJA_VIEW_ITEMS)
				item = lmi_jinja_tuple2(run, item, d->e[i].value);
			lmi_jinja_list_add(run, l, item);
		}
		break;
	default: /* undefined: no items */
		break;
	}
}

/* Returns the remaining items of an iterator. */
static struct lmi_jinja_list *drain(struct lmi_jinja_run *run, struct lmi_jinja_iter *it)
{
	struct lmi_jinja_list *l = lmi_jinja_list_new(run).u.list;

	l->n = l->cap = it->items->n - it->at;
	l->v = l->n ? it->items->v + it->at : NULL;
	it->at = it->items->n;
	if (it->failure && !run->failed) {
		run->failed = true;
		run->failure = *it->failure;
	}
	return run->failed ? NULL : l;
}

struct lmi_jinja_list *lmi_jinja_val_items(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	struct lmi_jinja_list *l;

	if (v.kind == LMI_JINJA_V_LIST || v.kind == LMI_JINJA_V_TUPLE)
		return run->failed ? NULL : v.u.list;
	if (v.kind == LMI_JINJA_V_ITER)
		return run->failed ? NULL : drain(run, v.u.iter);
	if (lmi_jinja_val_length(v) < 0) {
		lmi_jinja_run_fail(run, "'%s' object is not iterable", lmi_jinja_val_type(v));
		return NULL;
	}
	l = lmi_jinja_list_new(run).u.list;
	add_items(run, l, v);
	return run->failed ? NULL : l;
}

struct lmi_jinja_val lmi_jinja_iter_new(struct lmi_jinja_run *run, struct lmi_jinja_val list)
{
	bool failed = run->failed;
	struct lmi_jinja_iter *it;

	/* exceeding a limit is not recoverable */
	if (failed && run->failure.status == LMD_NOMEM)
		return lmi_jinja_none();
	run->failed = false;
	it = lmi_jinja_run_alloc(run, sizeof(*it));
	if (!it)
		return lmi_jinja_none();
	it->items = list.u.list;
	if (failed) {
		struct lmi_jinja_failure *f = lmi_jinja_run_alloc(run, sizeof(*f));

		if (!f)
			return lmi_jinja_none();
		*f = run->failure;
		it->failure = f;
	}
	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_ITER, .u.iter = it};
}

static bool contains_list(struct lmi_jinja_run *run, const struct lmi_jinja_list *l,
			  struct lmi_jinja_val item)
{
	for (uint32_t i = 0; i < l->n && lmi_jinja_run_step(run, 1); i++) {
		if (lmi_jinja_val_equal(run, l->v[i], item))
			return true;
	}
	return false;
}

/* Advances an iterator up to and including the item. */
static bool contains_iter(struct lmi_jinja_run *run, struct lmi_jinja_iter *it,
			  struct lmi_jinja_val item)
{
	while (it->at < it->items->n && lmi_jinja_run_step(run, 1)) {
		if (lmi_jinja_val_equal(run, it->items->v[it->at++], item))
			return true;
	}
	return !drain(run, it);
}

bool lmi_jinja_val_contains(struct lmi_jinja_run *run, struct lmi_jinja_val container,
			    struct lmi_jinja_val item)
{
	const struct lmi_jinja_list *l;

	if (container.kind == LMI_JINJA_V_STR) {
		if (item.kind != LMI_JINJA_V_STR) {
			lmi_jinja_run_fail(run,
					   "'in <string>' requires string as left operand, not %s",
					   lmi_jinja_val_type(item));
			return false;
		}
		return lmi_jinja_run_step(run, ((uint64_t)container.n + item.n) / 16) &&
		       (!item.n || memmem(container.u.s, container.n, item.u.s, item.n));
	}
	if (container.kind == LMI_JINJA_V_DICT ||
	    (container.kind == LMI_JINJA_V_VIEW && container.u.view->of == LMI_JINJA_VIEW_KEYS))
		return lmi_jinja_dict_find(run,
					   container.kind == LMI_JINJA_V_DICT
						   ? container.u.dict
						   : container.u.view->dict,
					   item) != NULL;
	if (container.kind == LMI_JINJA_V_ITER)
		return contains_iter(run, container.u.iter, item);
	if (container.kind == LMI_JINJA_V_BYTES || lmi_jinja_val_length(container) < 0) {
		lmi_jinja_run_fail(run, "argument of type '%s' is not iterable",
				   lmi_jinja_val_type(container));
		return false;
	}
	l = lmi_jinja_val_items(run, container);
	return l && contains_list(run, l, item);
}
