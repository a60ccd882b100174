/* SPDX-License-Identifier: MIT
 *
 * Properties of all values, lists, and the import of input values. */
#include "core/jinja/value.h"

#include "core/jinja/origin_marks.h"
#include "core/jinja/run.h"
#include "core/jinja/str_buf.h"
#include "core/unicode/unicode.h"

const char *lmi_jinja_val_type(struct lmi_jinja_val v)
{
	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_MISSING:
	case LMI_JINJA_V_UNDEF:
		return "Undefined";
	case LMI_JINJA_V_NONE:
		return "NoneType";
	case LMI_JINJA_V_BOOL:
		return "bool";
	case LMI_JINJA_V_INT:
		return "int";
	case LMI_JINJA_V_FLOAT:
		return "float";
	case LMI_JINJA_V_STR:
		return "str";
	case LMI_JINJA_V_BYTES:
		return "bytes";
	case LMI_JINJA_V_LIST:
		return "list";
	case LMI_JINJA_V_TUPLE:
		return "tuple";
	case LMI_JINJA_V_DICT:
		return "dict";
	case LMI_JINJA_V_VIEW:
		return "dict view";
	case LMI_JINJA_V_RANGE:
		return "range";
	case LMI_JINJA_V_ITER:
		return "generator";
	case LMI_JINJA_V_NAMESPACE:
		return "Namespace";
	case LMI_JINJA_V_BUILTIN:
		return "function";
	case LMI_JINJA_V_MACRO:
		return "Macro";
	case LMI_JINJA_V_LOOP:
		return "LoopContext";
	case LMI_JINJA_V_CYCLER:
		return "Cycler";
	case LMI_JINJA_V_JOINER:
		return "Joiner";
	}
	return "?";
}

bool lmi_jinja_val_truth(struct lmi_jinja_val v)
{
	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_MISSING:
	case LMI_JINJA_V_UNDEF:
	case LMI_JINJA_V_NONE:
		return false;
	case LMI_JINJA_V_BOOL:
		return v.u.b;
	case LMI_JINJA_V_INT:
		return v.u.i != 0;
	case LMI_JINJA_V_FLOAT:
		return v.u.f != 0.0;
	case LMI_JINJA_V_STR:
	case LMI_JINJA_V_BYTES:
		return v.n != 0;
	case LMI_JINJA_V_LIST:
	case LMI_JINJA_V_TUPLE:
	case LMI_JINJA_V_DICT:
	case LMI_JINJA_V_VIEW:
	case LMI_JINJA_V_RANGE:
		return lmi_jinja_val_length(v) != 0;
	case LMI_JINJA_V_ITER:
	case LMI_JINJA_V_NAMESPACE:
	case LMI_JINJA_V_BUILTIN:
	case LMI_JINJA_V_MACRO:
	case LMI_JINJA_V_LOOP:
	case LMI_JINJA_V_CYCLER:
	case LMI_JINJA_V_JOINER:
		break;
	}
	return true;
}

int64_t lmi_jinja_val_length(struct lmi_jinja_val v)
{
	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_UNDEF:
		return 0;
	case LMI_JINJA_V_STR:
		return (int64_t)lmi_unicode_count(v.u.s, v.n);
	case LMI_JINJA_V_BYTES:
		return v.n;
	case LMI_JINJA_V_LIST:
	case LMI_JINJA_V_TUPLE:
		return v.u.list->n;
	case LMI_JINJA_V_DICT:
		return v.u.dict->n;
	case LMI_JINJA_V_VIEW:
		return v.u.view->dict->n;
	case LMI_JINJA_V_RANGE:
		return v.u.range->n;
	default: /* numbers, functions, iterators */
		return -1;
	}
}

/* Lists */

struct lmi_jinja_val lmi_jinja_list_new(struct lmi_jinja_run *run)
{
	struct lmi_jinja_list *l = lmi_jinja_run_alloc(run, sizeof(*l));

	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_LIST, .u.list = l ? l : &run->nil_list};
}

void lmi_jinja_list_add(struct lmi_jinja_run *run, struct lmi_jinja_list *l, struct lmi_jinja_val v)
{
	if (run->failed)
		return;
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 4;
		struct lmi_jinja_val *p =
			cap > l->cap ? lmi_jinja_run_alloc(run, cap * sizeof(*p)) : NULL;

		if (!p)
			return;
		if (l->n)
			memcpy(p, l->v, l->n * sizeof(*p));
		l->v = p;
		l->cap = cap;
	}
	l->v[l->n++] = v;
}

struct lmi_jinja_val lmi_jinja_tuple2(struct lmi_jinja_run *run, struct lmi_jinja_val a,
				      struct lmi_jinja_val b)
{
	struct lmi_jinja_val t = lmi_jinja_list_new(run);

	lmi_jinja_list_add(run, t.u.list, a);
	lmi_jinja_list_add(run, t.u.list, b);
	return lmi_jinja_as_tuple(t);
}

/* Input */

/* Copies a string, replacing every byte that is not UTF-8 by U+FFFD.  from_template: mark it as
 * written by the template. */
static struct lmi_jinja_val import_str(struct lmi_jinja_run *run, struct lmd_str s,
				       bool from_template)
{
	struct lmi_jinja_str_buf b = {.run = run};
	size_t at = 0, good = 0;

	if (s.len > LMI_JINJA_TEXT_MAX) {
		lmi_jinja_run_fail_status(run, LMD_NOMEM, "a string is longer than %u bytes",
					  LMI_JINJA_TEXT_MAX);
		return lmi_jinja_strn("", 0);
	}
	while (at < s.len) {
		size_t from = at;
		uint32_t c = lmi_unicode_next(s.ptr, s.len, &at);

		if (c == 0xfffd && at - from == 1) {
			lmi_jinja_buf_add(&b, s.ptr + good, from - good);
			lmi_jinja_buf_char(&b, c);
			good = at;
		}
	}
	if (!good && !run->marks)
		return lmi_jinja_strn(s.ptr, s.len);
	lmi_jinja_buf_add(&b, s.ptr + good, s.len - good);
	if (b.n)
		lmi_jinja_marks_set(run->marks, b.s, b.n, from_template);
	return lmi_jinja_buf_done(&b);
}

struct lmi_jinja_val lmi_jinja_val_import(struct lmi_jinja_run *run,
					  const struct lmi_jinja_value *v)
{
	struct lmi_jinja_val out = lmi_jinja_none();

	if (!lmi_jinja_run_enter(run))
		return out;
	switch (v->kind) {
	case LMI_JINJA_T_NONE:
		break;
	case LMI_JINJA_T_BOOL:
		out = lmi_jinja_bool(v->u.b);
		break;
	case LMI_JINJA_T_INT:
		out = lmi_jinja_int(v->u.i);
		break;
	case LMI_JINJA_T_FLOAT:
		out = lmi_jinja_float(v->u.f);
		break;
	case LMI_JINJA_T_STR:
		out = import_str(run, v->u.s, v->from_template);
		break;
	case LMI_JINJA_T_LIST:
		out = lmi_jinja_list_new(run);
		for (uint32_t i = 0; i < v->n && lmi_jinja_run_step(run, 1); i++)
			lmi_jinja_list_add(run, out.u.list,
					   lmi_jinja_val_import(run, &v->u.items[i]));
		break;
	case LMI_JINJA_T_DICT:
		out = lmi_jinja_dict_new(run);
		for (uint32_t i = 0; i < v->n && lmi_jinja_run_step(run, 1); i++)
			lmi_jinja_dict_set(run, out.u.dict,
					   import_str(run, v->u.members[i].key, false),
					   lmi_jinja_val_import(run, &v->u.members[i].value));
		break;
	}
	lmi_jinja_run_leave(run);
	return out;
}
