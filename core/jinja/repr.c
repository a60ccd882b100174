/* SPDX-License-Identifier: MIT
 *
 * String forms of values: Python's str() and repr(), and entities. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/jinja/eval.h"
#include "core/unicode/unicode.h"

/* Digits and exponent of the shortest decimal representation that parses back to f. */
static int shortest(double f, char digits[24], int *exponent)
{
	char text[40];
	int n = 0, precision = 1;
	const char *e;

	do {
		(void)snprintf(text, sizeof(text), "%.*e", precision - 1, f);
	} while (strtod(text, NULL) != f && precision++ < 17);
	e = strchr(text, 'e');
	for (const char *p = text; p < e; p++) {
		if (*p >= '0' && *p <= '9')
			digits[n++] = *p;
	}
	*exponent = atoi(e + 1);
	while (n > 1 && digits[n - 1] == '0')
		n--;
	return n;
}

void lmi_jinja_float_text(double f, char out[32])
{
	char digits[24];
	int n, e, at = 0;

	if (isnan(f) || isinf(f)) {
		(void)snprintf(out, 32, "%s", isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
		return;
	}
	n = shortest(fabs(f), digits, &e);
	if (signbit(f))
		out[at++] = '-';
	if (e < -4 || e >= 16) {
		out[at++] = digits[0];
		if (n > 1)
			out[at++] = '.';
		for (int i = 1; i < n; i++)
			out[at++] = digits[i];
		(void)snprintf(out + at, (size_t)(32 - at), "e%c%02d", e < 0 ? '-' : '+', abs(e));
		return;
	}
	if (e < 0) {
		out[at++] = '0';
		out[at++] = '.';
		for (int i = -1; i > e; i--)
			out[at++] = '0';
	}
	for (int i = 0; i < n || i <= e; i++) {
		out[at++] = i < n ? digits[i] : '0';
		if (i == e) {
			out[at++] = '.';
			if (i + 1 >= n)
				out[at++] = '0';
		}
	}
	out[at] = '\0';
}

static void escape_char(struct lmi_jinja_str_buf *b, uint32_t c)
{
	if (c < 0x100)
		lmi_jinja_buf_printf(b, "\\x%02x", c);
	else
		lmi_jinja_buf_printf(b, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

/* Appends one character, escaped for a repr. */
static void repr_char(struct lmi_jinja_str_buf *b, uint32_t c, uint32_t quote)
{
	if (c == quote || c == '\\') {
		lmi_jinja_buf_char(b, '\\');
		lmi_jinja_buf_char(b, c);
	} else if (c == '\n') {
		lmi_jinja_buf_str(b, "\\n");
	} else if (c == '\r') {
		lmi_jinja_buf_str(b, "\\r");
	} else if (c == '\t') {
		lmi_jinja_buf_str(b, "\\t");
	} else if (lmi_unicode_printable(c)) {
		lmi_jinja_buf_char(b, c);
	} else {
		escape_char(b, c);
	}
}

/* Uses single quotes, unless the string contains one and no double quote. */
static void repr_str(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v)
{
	uint32_t quote = '\'';

	if (v.n && memchr(v.u.s, '\'', v.n) && !memchr(v.u.s, '"', v.n))
		quote = '"';
	if (v.kind == LMI_JINJA_V_BYTES)
		lmi_jinja_buf_char(b, 'b');
	lmi_jinja_buf_char(b, quote);
	for (size_t at = 0; at < v.n && lmi_jinja_run_step(b->run, 1);) {
		uint32_t c = v.kind == LMI_JINJA_V_BYTES ? (unsigned char)v.u.s[at++]
							 : lmi_unicode_next(v.u.s, v.n, &at);

		if (v.kind == LMI_JINJA_V_BYTES && c >= 0x7f)
			lmi_jinja_buf_printf(b, "\\x%02x", c);
		else
			repr_char(b, c, quote);
	}
	lmi_jinja_buf_char(b, quote);
}

static void repr_list(struct lmi_jinja_str_buf *b, const struct lmi_jinja_list *l, const char *open,
		      const char *close)
{
	lmi_jinja_buf_str(b, open);
	for (uint32_t i = 0; i < l->n && lmi_jinja_run_step(b->run, 1); i++) {
		if (i)
			lmi_jinja_buf_str(b, ", ");
		lmi_jinja_val_repr_to(b, l->v[i]);
	}
	lmi_jinja_buf_str(b, close);
}

static void repr_dict(struct lmi_jinja_str_buf *b, const struct lmi_jinja_dict *d)
{
	lmi_jinja_buf_char(b, '{');
	for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(b->run, 1); i++) {
		if (i)
			lmi_jinja_buf_str(b, ", ");
		lmi_jinja_val_repr_to(b, d->e[i].key);
		lmi_jinja_buf_str(b, ": ");
		lmi_jinja_val_repr_to(b, d->e[i].value);
	}
	lmi_jinja_buf_char(b, '}');
}

static void repr_view(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v)
{
	static const char *const open[] = {"dict_keys([", "dict_values([", "dict_items(["};
	const struct lmi_jinja_list *l = lmi_jinja_val_items(b->run, v);

	if (l)
		repr_list(b, l, open[v.u.view->of], "])");
}

static void repr_range(struct lmi_jinja_str_buf *b, const struct lmi_jinja_range *r)
{
	lmi_jinja_buf_printf(b, "range(%lld, %lld", (long long)r->start, (long long)r->stop);
	if (r->step != 1)
		lmi_jinja_buf_printf(b, ", %lld", (long long)r->step);
	lmi_jinja_buf_char(b, ')');
}

static void repr_any(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v)
{
	struct lmi_jinja_val name;
	char text[32];

	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_MISSING:
	case LMI_JINJA_V_UNDEF:
		lmi_jinja_buf_str(b, "Undefined");
		break;
	case LMI_JINJA_V_NONE:
		lmi_jinja_buf_str(b, "None");
		break;
	case LMI_JINJA_V_BOOL:
		lmi_jinja_buf_str(b, v.u.b ? "True" : "False");
		break;
	case LMI_JINJA_V_INT:
		lmi_jinja_buf_printf(b, "%lld", (long long)v.u.i);
		break;
	case LMI_JINJA_V_FLOAT:
		lmi_jinja_float_text(v.u.f, text);
		lmi_jinja_buf_str(b, text);
		break;
	case LMI_JINJA_V_STR:
	case LMI_JINJA_V_BYTES:
		if (v.flags & LMI_JINJA_VF_SAFE)
			lmi_jinja_buf_str(b, "Markup(");
		repr_str(b, v);
		if (v.flags & LMI_JINJA_VF_SAFE)
			lmi_jinja_buf_char(b, ')');
		break;
	case LMI_JINJA_V_LIST:
		repr_list(b, v.u.list, "[", "]");
		break;
	case LMI_JINJA_V_TUPLE:
		repr_list(b, v.u.list, "(", v.u.list->n == 1 ? ",)" : ")");
		break;
	case LMI_JINJA_V_DICT:
		repr_dict(b, v.u.dict);
		break;
	case LMI_JINJA_V_VIEW:
		repr_view(b, v);
		break;
	case LMI_JINJA_V_RANGE:
		repr_range(b, v.u.range);
		break;
	case LMI_JINJA_V_NAMESPACE:
		lmi_jinja_buf_str(b, "<Namespace ");
		repr_dict(b, v.u.dict);
		lmi_jinja_buf_char(b, '>');
		break;
	case LMI_JINJA_V_MACRO:
		name = lmi_jinja_macro_name(v.u.macro);
		lmi_jinja_buf_str(b, "<Macro ");
		if (name.kind == LMI_JINJA_V_NONE)
			lmi_jinja_buf_str(b, "anonymous");
		else
			lmi_jinja_val_repr_to(b, name);
		lmi_jinja_buf_char(b, '>');
		break;
	case LMI_JINJA_V_LOOP:
		lmi_jinja_loop_repr(b, v.u.loop);
		break;
	case LMI_JINJA_V_ITER:
	case LMI_JINJA_V_BUILTIN:
	case LMI_JINJA_V_CYCLER:
	case LMI_JINJA_V_JOINER:
		lmi_jinja_buf_printf(b, "<%s object>", lmi_jinja_val_type(v));
		break;
	}
}

void lmi_jinja_val_repr_to(struct lmi_jinja_str_buf *b, struct lmi_jinja_val v)
{
	if (!lmi_jinja_run_enter(b->run))
		return;
	repr_any(b, v);
	lmi_jinja_run_leave(b->run);
}

struct lmi_jinja_val lmi_jinja_val_repr(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	struct lmi_jinja_str_buf b = {.run = run};

	lmi_jinja_val_repr_to(&b, v);
	return lmi_jinja_buf_done(&b);
}

struct lmi_jinja_val lmi_jinja_val_ascii(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	struct lmi_jinja_val text = lmi_jinja_val_repr(run, v);
	struct lmi_jinja_str_buf b = {.run = run};

	for (size_t at = 0; at < text.n && lmi_jinja_run_step(run, 1);) {
		uint32_t c = lmi_unicode_next(text.u.s, text.n, &at);

		if (c < 0x80)
			lmi_jinja_buf_char(&b, c);
		else
			escape_char(&b, c);
	}
	return lmi_jinja_buf_done(&b);
}

struct lmi_jinja_val lmi_jinja_val_text(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (v.kind == LMI_JINJA_V_STR)
		return v;
	if (v.kind == LMI_JINJA_V_UNDEF)
		return lmi_jinja_strn("", 0);
	return lmi_jinja_val_repr(run, v);
}

struct lmi_jinja_val lmi_jinja_val_escape(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	struct lmi_jinja_str_buf b = {.run = run};
	uint32_t good = 0;

	v = lmi_jinja_val_text(run, v);
	if (v.flags & LMI_JINJA_VF_SAFE)
		return v;
	for (uint32_t i = 0; i < v.n; i++) {
		const char *entity = v.u.s[i] == '&'    ? "&amp;"
				     : v.u.s[i] == '<'  ? "&lt;"
				     : v.u.s[i] == '>'  ? "&gt;"
				     : v.u.s[i] == '\'' ? "&#39;"
				     : v.u.s[i] == '"'  ? "&#34;"
							: NULL;

		if (!entity)
			continue;
		lmi_jinja_buf_add(&b, v.u.s + good, i - good);
		lmi_jinja_buf_str(&b, entity);
		good = i + 1;
	}
	if (good) {
		lmi_jinja_buf_add(&b, v.u.s + good, v.n - good);
		v = lmi_jinja_buf_done(&b);
	}
	v.flags |= LMI_JINJA_VF_SAFE;
	return v;
}
