/* SPDX-License-Identifier: MIT
 *
 * The filter tojson: writes JSON in the format of Python's json.dumps. */
#include <math.h>

#include "core/jinja/builtin.h"
#include "core/unicode/unicode.h"

struct writer {
	struct lmi_jinja_str_buf b;
	struct lmi_jinja_val item_sep, key_sep;
	struct lmi_jinja_val indent; /* NONE: all on one line */
	bool ascii, sort;
};

static void write_value(struct writer *w, struct lmi_jinja_val v, uint32_t depth);

static void write_string(struct writer *w, struct lmi_jinja_val v)
{
	lmi_jinja_buf_char(&w->b, '"');
	for (size_t at = 0; at < v.n && lmi_jinja_run_step(w->b.run, 1);) {
		uint32_t c = lmi_unicode_next(v.u.s, v.n, &at);
		const char *esc = c == '"'    ? "\\\""
				  : c == '\\' ? "\\\\"
				  : c == '\n' ? "\\n"
				  : c == '\r' ? "\\r"
				  : c == '\t' ? "\\t"
				  : c == '\b' ? "\\b"
				  : c == '\f' ? "\\f"
					      : NULL;

		if (esc) {
			lmi_jinja_buf_str(&w->b, esc);
		} else if (c < 0x20 || (w->ascii && c >= 0x7f && c < 0x10000)) {
			lmi_jinja_buf_printf(&w->b, "\\u%04x", c);
		} else if (w->ascii && c >= 0x10000) {
			c -= 0x10000;
			lmi_jinja_buf_printf(&w->b, "\\u%04x\\u%04x", 0xd800 + (c >> 10),
					     0xdc00 + (c & 0x3ff));
		} else {
			lmi_jinja_buf_char(&w->b, c);
		}
	}
	lmi_jinja_buf_char(&w->b, '"');
}

static void write_float(struct writer *w, double f)
{
	char text[32];

	if (isnan(f)) {
		lmi_jinja_buf_str(&w->b, "NaN");
	} else if (isinf(f)) {
		lmi_jinja_buf_str(&w->b, f < 0 ? "-Infinity" : "Infinity");
	} else {
		lmi_jinja_float_text(f, text);
		lmi_jinja_buf_str(&w->b, text);
	}
}

static void new_line(struct writer *w, uint32_t depth)
{
	if (w->indent.kind == LMI_JINJA_V_NONE)
		return;
	lmi_jinja_buf_char(&w->b, '\n');
	for (uint32_t i = 0; i < depth && lmi_jinja_run_step(w->b.run, 1); i++)
		lmi_jinja_buf_val(&w->b, w->indent);
}

static void write_list(struct writer *w, const struct lmi_jinja_list *l, uint32_t depth)
{
	if (!l->n) {
		lmi_jinja_buf_str(&w->b, "[]");
		return;
	}
	lmi_jinja_buf_char(&w->b, '[');
	for (uint32_t i = 0; i < l->n && lmi_jinja_run_step(w->b.run, 1); i++) {
		if (i)
			lmi_jinja_buf_val(&w->b, w->item_sep);
		new_line(w, depth + 1);
		write_value(w, l->v[i], depth + 1);
	}
	new_line(w, depth);
	lmi_jinja_buf_char(&w->b, ']');
}

static void write_key(struct writer *w, struct lmi_jinja_val key)
{
	if (key.kind == LMI_JINJA_V_STR) {
		write_string(w, key);
		return;
	}
	if (key.kind != LMI_JINJA_V_NONE && !lmi_jinja_is_number(key)) {
		lmi_jinja_run_fail(w->b.run, "tojson: a key cannot be of type %s",
				   lmi_jinja_val_type(key));
		return;
	}
	lmi_jinja_buf_char(&w->b, '"');
	write_value(w, key, 0);
	lmi_jinja_buf_char(&w->b, '"');
}

static void write_dict(struct writer *w, const struct lmi_jinja_dict *d, uint32_t depth)
{
	struct lmi_jinja_run *run = w->b.run;
	struct lmi_jinja_list *keys = lmi_jinja_list_new(run).u.list;

	if (!d->n) {
		lmi_jinja_buf_str(&w->b, "{}");
		return;
	}
	for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, keys, d->e[i].key);
	if (w->sort)
		lmi_jinja_list_sort(run, keys, NULL, false);
	lmi_jinja_buf_char(&w->b, '{');
	for (uint32_t i = 0; i < keys->n && lmi_jinja_run_step(run, 1); i++) {
		const struct lmi_jinja_val *v = lmi_jinja_dict_find(run, d, keys->v[i]);

		if (i)
			lmi_jinja_buf_val(&w->b, w->item_sep);
		new_line(w, depth + 1);
		write_key(w, keys->v[i]);
		lmi_jinja_buf_val(&w->b, w->key_sep);
		if (v)
			write_value(w, *v, depth + 1);
	}
	new_line(w, depth);
	lmi_jinja_buf_char(&w->b, '}');
}

static void write_any(struct writer *w, struct lmi_jinja_val v, uint32_t depth)
{
	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_NONE:
		lmi_jinja_buf_str(&w->b, "null");
		break;
	case LMI_JINJA_V_BOOL:
		lmi_jinja_buf_str(&w->b, v.u.b ? "true" : "false");
		break;
	case LMI_JINJA_V_INT:
		lmi_jinja_buf_printf(&w->b, "%lld", (long long)v.u.i);
		break;
	case LMI_JINJA_V_FLOAT:
		write_float(w, v.u.f);
		break;
	case LMI_JINJA_V_STR:
		write_string(w, v);
		break;
	case LMI_JINJA_V_LIST:
	case LMI_JINJA_V_TUPLE:
		write_list(w, v.u.list, depth);
		break;
	case LMI_JINJA_V_DICT:
		write_dict(w, v.u.dict, depth);
		break;
	default: /* undefined, functions, iterators, ... */
		lmi_jinja_run_fail(w->b.run, "tojson: a value of type %s cannot be written as JSON",
				   lmi_jinja_val_type(v));
		break;
	}
}

static void write_value(struct writer *w, struct lmi_jinja_val v, uint32_t depth)
{
	if (!lmi_jinja_run_enter(w->b.run))
		return;
	write_any(w, v, depth);
	lmi_jinja_run_leave(w->b.run);
}

enum { ENSURE_ASCII, INDENT, SEPARATORS, SORT_KEYS };

struct lmi_jinja_val lmi_jinja_tojson(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				      const struct lmi_jinja_val *a)
{
	struct writer w = {.b = {.run = run}, .indent = lmi_jinja_none()};

	w.ascii = lmi_jinja_param_truth(a[ENSURE_ASCII], false);
	w.sort = lmi_jinja_param_truth(a[SORT_KEYS], false);
	if (lmi_jinja_val_is_given(a[INDENT]) && lmi_jinja_is_integer(a[INDENT])) {
		struct lmi_jinja_str_buf b = {.run = run};
		int64_t n = lmi_jinja_integer(a[INDENT]);

		lmi_jinja_buf_fill(&b, ' ', n > 0 ? (uint64_t)n : 0);
		w.indent = lmi_jinja_buf_done(&b);
	} else if (lmi_jinja_val_is_given(a[INDENT]) && a[INDENT].kind != LMI_JINJA_V_NONE) {
		w.indent = lmi_jinja_param_str(run, a[INDENT], "", "indent");
	}
	w.item_sep = lmi_jinja_str(w.indent.kind == LMI_JINJA_V_NONE ? ", " : ",");
	w.key_sep = lmi_jinja_str(": ");
	if (lmi_jinja_val_is_given(a[SEPARATORS]) && a[SEPARATORS].kind != LMI_JINJA_V_NONE) {
		const struct lmi_jinja_list *l = lmi_jinja_val_items(run, a[SEPARATORS]);

		if (!l || l->n != 2) {
			lmi_jinja_run_fail(run, "separators must be two strings");
			return lmi_jinja_none();
		}
		w.item_sep = lmi_jinja_param_str(run, l->v[0], "", "a separator");
		w.key_sep = lmi_jinja_param_str(run, l->v[1], "", "a separator");
	}
	write_value(&w, self, 0);
	return lmi_jinja_buf_done(&w.b);
}
