/* SPDX-License-Identifier: MIT
 *
 * The filter pprint: the repr of a value, with dictionaries sorted by key, and split over several
 * lines if it is longer than one. */
#include <string.h>

#include "core/jinja/builtin.h"

#define WIDTH 80

static void put(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v, int64_t indent,
		int64_t trailing);

/* The keys sorted, or unsorted if they cannot be compared. */
static struct lmi_jinja_list *sorted_keys(struct lmi_jinja_run *run, const struct lmi_jinja_dict *d)
{
	struct lmi_jinja_list *keys = lmi_jinja_list_new(run).u.list;
	bool comparable = true;

	for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(run, 1); i++) {
		comparable &=
			d->e[i].key.kind == d->e[0].key.kind &&
			(lmi_jinja_is_number(d->e[i].key) || d->e[i].key.kind == LMI_JINJA_V_STR);
		lmi_jinja_list_add(run, keys, d->e[i].key);
	}
	if (comparable)
		lmi_jinja_list_sort(run, keys, NULL, false);
	return keys;
}

static struct lmi_jinja_val sorted(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	struct lmi_jinja_val out = v;
	const struct lmi_jinja_list *keys;

	if (!lmi_jinja_run_enter(run))
		return v;
	if (v.kind == LMI_JINJA_V_DICT) {
		out = lmi_jinja_dict_new(run);
		keys = sorted_keys(run, v.u.dict);
		for (uint32_t i = 0; i < keys->n && lmi_jinja_run_step(run, 1); i++) {
			const struct lmi_jinja_val *p =
				lmi_jinja_dict_find(run, v.u.dict, keys->v[i]);

			if (p)
				lmi_jinja_dict_set(run, out.u.dict, keys->v[i], sorted(run, *p));
		}
	} else if (v.kind == LMI_JINJA_V_LIST || v.kind == LMI_JINJA_V_TUPLE) {
		out = lmi_jinja_list_new(run);
		for (uint32_t i = 0; i < v.u.list->n && lmi_jinja_run_step(run, 1); i++)
			lmi_jinja_list_add(run, out.u.list, sorted(run, v.u.list->v[i]));
		out.kind = v.kind;
	}
	lmi_jinja_run_leave(run);
	return out;
}

static void new_line(struct lmi_jinja_str_buf *b, int64_t indent)
{
	lmi_jinja_buf_str(b, ",\n");
	lmi_jinja_buf_fill(b, ' ', (uint64_t)indent);
}

static void put_list(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v, int64_t indent,
		     int64_t trailing)
{
	const struct lmi_jinja_list *l = v.u.list;
	const char *close = v.kind == LMI_JINJA_V_LIST ? "]" : l->n == 1 ? ",)" : ")";

	lmi_jinja_buf_char(b, v.kind == LMI_JINJA_V_LIST ? '[' : '(');
	for (uint32_t i = 0; i < l->n && lmi_jinja_run_step(b->run, 1); i++) {
		bool last = i + 1 == l->n;

		put(b, l->v[i], indent + 1, last ? trailing + (int64_t)strlen(close) : 1);
		if (!last)
			new_line(b, indent + 1);
	}
	lmi_jinja_buf_str(b, close);
}

static void put_dict(struct lmi_jinja_str_buf *b, const struct lmi_jinja_dict *d, int64_t indent,
		     int64_t trailing)
{
	lmi_jinja_buf_char(b, '{');
	for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(b->run, 1); i++) {
		struct lmi_jinja_val key = lmi_jinja_val_repr(b->run, d->e[i].key);
		bool last = i + 1 == d->n;

		lmi_jinja_buf_val(b, key);
		lmi_jinja_buf_str(b, ": ");
		put(b, d->e[i].value, indent + 1 + lmi_jinja_val_length(key) + 2,
		    last ? trailing + 1 : 1);
		if (!last)
			new_line(b, indent + 1);
	}
	lmi_jinja_buf_char(b, '}');
}

/* Prints v at column `indent`; `trailing` more characters will follow on its last line. */
static void put(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v, int64_t indent,
		int64_t trailing)
{
	struct lmi_jinja_val text = lmi_jinja_val_repr(b->run, v);

	if (!lmi_jinja_run_enter(b->run))
		return;
	if (lmi_jinja_val_length(text) <= WIDTH - indent - trailing)
		lmi_jinja_buf_val(b, text);
	else if ((v.kind == LMI_JINJA_V_LIST || v.kind == LMI_JINJA_V_TUPLE) && v.u.list->n)
		put_list(b, v, indent, trailing);
	else if (v.kind == LMI_JINJA_V_DICT && v.u.dict->n)
		put_dict(b, v.u.dict, indent, trailing);
	else
		lmi_jinja_buf_val(b, text);
	lmi_jinja_run_leave(b->run);
}

struct lmi_jinja_val lmi_jinja_pprint(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a)
{
	struct lmi_jinja_str_buf b = {.run = run};

	(void)a;
	put(&b, sorted(run, self), 0, 0);
	return lmi_jinja_buf_done(&b);
}
