/* SPDX-License-Identifier: MIT
 *
 * Items and attributes of values. */
#include <string.h>

#include "core/jinja/call.h"
#include "core/jinja/ops.h"
#include "core/jinja/run.h"
#include "core/jinja/str_buf.h"
#include "core/unicode/unicode.h"

static struct lmi_jinja_val undef_of(struct lmi_jinja_run *run, struct lmi_jinja_val key)
{
	struct lmi_jinja_val text;

	if (key.kind == LMI_JINJA_V_STR)
		return lmi_jinja_undef(key.u.s, key.n);
	text = lmi_jinja_val_repr(run, key);
	return lmi_jinja_undef(text.u.s, text.n);
}

bool lmi_jinja_val_fail_undefined(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (v.kind != LMI_JINJA_V_UNDEF)
		return false;
	lmi_jinja_run_fail(run, "'%.*s' is undefined", (int)v.n, v.u.s);
	return true;
}

/* Finds item i of a sequence, counted from the end if negative; returns false if there is none. */
static bool item_at(struct lmi_jinja_run *run, struct lmi_jinja_val v, int64_t i,
		    struct lmi_jinja_val *out)
{
	int64_t n = lmi_jinja_val_length(v);
	size_t at, from;

	(void)lmi_jinja_run_step(run,
				 v.kind == LMI_JINJA_V_STR ? v.n / 16 : 0); /* the caller checks */
	i += i < 0 ? n : 0;
	if (i < 0 || i >= n)
		return false;
	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_STR:
		from = at = lmi_unicode_offset(v.u.s, v.n, (size_t)i);
		(void)lmi_unicode_next(v.u.s, v.n, &at); /* only advances the position */
		*out = lmi_jinja_strn(v.u.s + from, at - from);
		out->flags = v.flags;
		return true;
	case LMI_JINJA_V_BYTES:
		*out = lmi_jinja_int((unsigned char)v.u.s[i]);
		return true;
	case LMI_JINJA_V_RANGE:
		*out = lmi_jinja_int(v.u.range->start + i * v.u.range->step);
		return true;
	default: /* list, tuple */
		*out = v.u.list->v[i];
		return true;
	}
}

bool lmi_jinja_val_is_sequence(struct lmi_jinja_val v)
{
	return v.kind == LMI_JINJA_V_STR || v.kind == LMI_JINJA_V_BYTES ||
	       v.kind == LMI_JINJA_V_RANGE || v.kind == LMI_JINJA_V_LIST ||
	       v.kind == LMI_JINJA_V_TUPLE;
}

struct lmi_jinja_val lmi_jinja_val_item(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					struct lmi_jinja_val key)
{
	struct lmi_jinja_val out;

	if (lmi_jinja_val_fail_undefined(run, v))
		return v;
	if (v.kind == LMI_JINJA_V_DICT && lmi_jinja_val_hashable(key)) {
		const struct lmi_jinja_val *p = lmi_jinja_dict_find(run, v.u.dict, key);

		if (p)
			return *p;
	}
	if (lmi_jinja_val_is_sequence(v) && lmi_jinja_is_integer(key) &&
	    item_at(run, v, lmi_jinja_integer(key), &out))
		return out;
	if (key.kind == LMI_JINJA_V_STR && lmi_jinja_val_find_attr(run, v, key.u.s, key.n, &out))
		return out;
	return undef_of(run, key);
}

static bool name_is(const char *name, size_t n, const char *want)
{
	return n == strlen(want) && !memcmp(name, want, n);
}

static bool find_data(struct lmi_jinja_run *run, struct lmi_jinja_val v, const char *name, size_t n,
		      struct lmi_jinja_val *out)
{
	const struct lmi_jinja_val *p;

	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_NAMESPACE:
		p = lmi_jinja_dict_find_str(run, v.u.dict, name, n);
		if (p)
			*out = *p;
		return p != NULL;
	case LMI_JINJA_V_LOOP:
		return lmi_jinja_loop_attr(run, v.u.loop, name, n, out);
	case LMI_JINJA_V_MACRO:
		return lmi_jinja_macro_attr(run, v.u.macro, name, n, out);
	case LMI_JINJA_V_TUPLE:
		if (!(v.flags & LMI_JINJA_VF_GROUP))
			return false;
		if (!name_is(name, n, "grouper") && !name_is(name, n, "list"))
			return false;
		*out = v.u.list->v[name_is(name, n, "list")];
		return true;
	case LMI_JINJA_V_CYCLER:
		if (!name_is(name, n, "current"))
			return false;
		*out = v.u.cycler->items->v[v.u.cycler->at];
		return true;
	case LMI_JINJA_V_RANGE:
		if (name_is(name, n, "start"))
			*out = lmi_jinja_int(v.u.range->start);
		else if (name_is(name, n, "stop"))
			*out = lmi_jinja_int(v.u.range->stop);
		else if (name_is(name, n, "step"))
			*out = lmi_jinja_int(v.u.range->step);
		else
			return false;
		return true;
	case LMI_JINJA_V_BOOL:
	case LMI_JINJA_V_INT:
		if (name_is(name, n, "real") || name_is(name, n, "numerator"))
			*out = lmi_jinja_int(lmi_jinja_integer(v));
		else if (name_is(name, n, "imag"))
			*out = lmi_jinja_int(0);
		else if (name_is(name, n, "denominator"))
			*out = lmi_jinja_int(1);
		else
			return false;
		return true;
	case LMI_JINJA_V_FLOAT:
		if (!name_is(name, n, "real") && !name_is(name, n, "imag"))
			return false;
		*out = name_is(name, n, "real") ? v : lmi_jinja_float(0.0);
		return true;
	default: /* these kinds have only methods */
		return false;
	}
}

bool lmi_jinja_val_find_attr(struct lmi_jinja_run *run, struct lmi_jinja_val v, const char *name,
			     size_t n, struct lmi_jinja_val *out)
{
	const struct lmi_jinja_builtin *f;

	if (find_data(run, v, name, n, out))
		return true;
	f = lmi_jinja_method_find((enum lmi_jinja_vkind)v.kind, name, n);
	if (f)
		*out = lmi_jinja_builtin_value(run, f, v);
	return f != NULL;
}

struct lmi_jinja_val lmi_jinja_val_attr(struct lmi_jinja_run *run, struct lmi_jinja_val v,
					const char *name, size_t n)
{
	const struct lmi_jinja_val *p;
	struct lmi_jinja_val out;

	if (lmi_jinja_val_fail_undefined(run, v))
		return v;
	if (lmi_jinja_val_find_attr(run, v, name, n, &out))
		return out;
	p = v.kind == LMI_JINJA_V_DICT ? lmi_jinja_dict_find_str(run, v.u.dict, name, n) : NULL;
	return p ? *p : lmi_jinja_undef(name, n);
}
