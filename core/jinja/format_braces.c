/* SPDX-License-Identifier: MIT
 *
 * str.format: "{}".format(x). */
#include "core/jinja/spec.h"

#include <ctype.h>
#include <string.h>

struct braces {
	struct lmi_jinja_run *run;
	const struct lmi_jinja_call_args *args;
	int64_t next;         /* next automatic field number; -1 once explicit numbers are used */
	uint8_t safe;
};

static void put_braces(struct braces *f, struct lmi_jinja_str_buf *b, struct lmi_jinja_val fmt,
		       uint32_t depth);

/* The argument that a field number or name refers to. */
static struct lmi_jinja_val field_first(struct braces *f, const char *name, size_t n)
{
	int64_t i = 0;

	for (size_t k = 0; k < n && i >= 0; k++)
		i = isdigit((unsigned char)name[k]) && k < 9 ? i * 10 + name[k] - '0' : -1;
	if (i >= 0) {
		if (n ? f->next > 0 : f->next < 0) {
			lmi_jinja_run_fail(
				f->run,
				"format: automatic and explicit field numbers cannot be mixed");
			return lmi_jinja_none();
		}
		i = n ? i : f->next++;
		if (n)
			f->next = -1;
		if (i < f->args->n_pos)
			return f->args->pos[i];
		lmi_jinja_run_fail(f->run, "format: there is no argument %lld", (long long)i);
		return lmi_jinja_none();
	}
	for (uint32_t k = 0; k < f->args->n_kw; k++) {
		const struct lmi_jinja_kwarg *kw = &f->args->kw[k];

		if (kw->name.len == n && !memcmp(kw->name.ptr, name, n))
			return kw->v;
	}
	lmi_jinja_run_fail(f->run, "format: there is no argument '%.*s'", (int)n, name);
	return lmi_jinja_none();
}

static bool all_digits(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)s[i]))
			return false;
	}
	return n > 0 && n < 10;
}

/* name[.attribute | [item]]... */
static struct lmi_jinja_val field_value(struct braces *f, const char *s, size_t n)
{
	size_t at = 0, from;
	struct lmi_jinja_val v;

	while (at < n && s[at] != '.' && s[at] != '[')
		at++;
	v = field_first(f, s, at);
	while (at < n && lmi_jinja_run_step(f->run, 1)) {
		char kind = s[at++];

		from = at;
		if (kind == '.') {
			while (at < n && s[at] != '.' && s[at] != '[')
				at++;
			v = lmi_jinja_val_attr(f->run, v,
					       lmi_jinja_str_copy(f->run, s + from, at - from).u.s,
					       at - from);
		} else {
			while (at < n && s[at] != ']')
				at++;
			if (kind != '[' || at == n) {
				lmi_jinja_run_fail(f->run, "format: unclosed replacement field");
				return v;
			}
			v = lmi_jinja_val_item(f->run, v,
					       all_digits(s + from, at - from)
						       ? lmi_jinja_int(atoll(s + from))
						       : lmi_jinja_strn(s + from, at - from));
			at++;
		}
	}
	return v;
}

/* Appends the value formatted by its specification. */
static void put_field(struct braces *f, struct lmi_jinja_str_buf *b, struct lmi_jinja_val v,
		      char conversion, struct lmi_jinja_val spec)
{
	struct lmi_jinja_spec s;

	if (conversion == 'r')
		v = lmi_jinja_val_repr(f->run, v);
	else if (conversion == 'a')
		v = lmi_jinja_val_ascii(f->run, v);
	else if (conversion == 's')
		v = lmi_jinja_val_text(f->run, v);
	if (!spec.n) {
		lmi_jinja_buf_val(b, f->safe ? lmi_jinja_val_escape(f->run, v)
					     : lmi_jinja_val_text(f->run, v));
		return;
	}
	if (!lmi_jinja_spec_parse(f->run, spec, &s))
		return;
	if (v.kind == LMI_JINJA_V_STR)
		lmi_jinja_spec_str(b, &s, v);
	else if (lmi_jinja_is_integer(v))
		lmi_jinja_spec_int(b, &s, lmi_jinja_integer(v));
	else if (v.kind == LMI_JINJA_V_FLOAT)
		lmi_jinja_spec_float(b, &s, v.u.f);
	else
		lmi_jinja_run_fail(f->run,
				   "a value of type %s does not accept a format specification",
				   lmi_jinja_val_type(v));
}

/* Formats one replacement field; fmt[at] follows its opening brace.  Returns the offset of its
 * end. */
static size_t field(struct braces *f, struct lmi_jinja_str_buf *b, struct lmi_jinja_val fmt,
		    size_t at, uint32_t depth)
{
	size_t from = at, end;
	struct lmi_jinja_str_buf spec = {.run = f->run};
	struct lmi_jinja_val v;
	char conversion = 0;
	uint32_t open = 1;
	bool in_index = false;

	while (at < fmt.n && (in_index || !strchr("!:}", fmt.u.s[at]))) {
		in_index = fmt.u.s[at] == '[' || (in_index && fmt.u.s[at] != ']');
		at++;
	}
	v = field_value(f, fmt.u.s + from, at - from);
	if (at + 1 < fmt.n && fmt.u.s[at] == '!') {
		conversion = fmt.u.s[at + 1];
		at += 2;
		if (!strchr("rsa", conversion) || at >= fmt.n || !strchr(":}", fmt.u.s[at]))
			lmi_jinja_run_fail(f->run, "format: unknown conversion");
	}
	if (at < fmt.n && fmt.u.s[at] == ':')
		at++;
	for (end = at; end < fmt.n && !f->run->failed; end++) {
		open += fmt.u.s[end] == '{';
		open -= fmt.u.s[end] == '}';
		if (!open)
			break;
	}
	if (end >= fmt.n || depth >= 2) {
		lmi_jinja_run_fail(f->run, depth >= 2 ? "format: fields are nested too deeply"
						      : "format: missing '}'");
		return fmt.n;
	}
	put_braces(f, &spec, lmi_jinja_strn(fmt.u.s + at, end - at), depth + 1);
	put_field(f, b, v, conversion, lmi_jinja_buf_done(&spec));
	return end + 1;
}

static void put_braces(struct braces *f, struct lmi_jinja_str_buf *b, struct lmi_jinja_val fmt,
		       uint32_t depth)
{
	for (size_t at = 0; at < fmt.n && lmi_jinja_run_step(f->run, 1);) {
		char c = fmt.u.s[at];
		bool twice = at + 1 < fmt.n && fmt.u.s[at + 1] == c;

		if (c != '{' && c != '}') {
			size_t from = at;

			while (at < fmt.n && fmt.u.s[at] != '{' && fmt.u.s[at] != '}')
				at++;
			lmi_jinja_buf_add(b, fmt.u.s + from, at - from);
		} else if (twice && depth == 0) {
			lmi_jinja_buf_char(b, (unsigned char)c);
			at += 2;
		} else if (c == '}') {
			lmi_jinja_run_fail(f->run, "format: unmatched '}'");
		} else {
			at = field(f, b, fmt, at + 1, depth);
		}
	}
}

struct lmi_jinja_val lmi_jinja_format_braces(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					     const struct lmi_jinja_call_args *args)
{
	struct braces f = {.run = run, .args = args, .safe = self.flags & LMI_JINJA_VF_SAFE};
	struct lmi_jinja_str_buf b = {.run = run};
	struct lmi_jinja_val out;

	put_braces(&f, &b, self, 0);
	out = lmi_jinja_buf_done(&b);
	out.flags = self.flags;
	return out;
}
