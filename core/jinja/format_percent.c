/* SPDX-License-Identifier: MIT
 *
 * The % operator of strings: "%s" % x. */
#include "core/jinja/spec.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct percent {
	struct lmi_jinja_run *run;
	struct lmi_jinja_val fmt, arg;
	size_t at;
	uint32_t next;        /* index in the tuple */
	struct lmi_jinja_str_buf b;
};

/* The next value of the tuple, or the single value. */
static struct lmi_jinja_val next_value(struct percent *p)
{
	if (p->arg.kind == LMI_JINJA_V_TUPLE && p->next < p->arg.u.list->n)
		return p->arg.u.list->v[p->next++];
	if (p->arg.kind != LMI_JINJA_V_TUPLE && !p->next++)
		return p->arg;
	lmi_jinja_run_fail(p->run, "not enough arguments for format string");
	return lmi_jinja_none();
}

/* Parses (name) and finds that member of the mapping. */
static bool named_value(struct percent *p, struct lmi_jinja_val *out)
{
	size_t from = ++p->at;
	uint32_t depth = 1;

	for (; p->at < p->fmt.n; p->at++) {
		depth += p->fmt.u.s[p->at] == '(';
		depth -= p->fmt.u.s[p->at] == ')';
		if (!depth)
			break;
	}
	if (depth) {
		lmi_jinja_run_fail(p->run, "incomplete format key");
		return false;
	}
	if (p->arg.kind != LMI_JINJA_V_DICT) {
		lmi_jinja_run_fail(p->run, "format requires a mapping");
		return false;
	}
	*out = lmi_jinja_val_item(p->run, p->arg, lmi_jinja_strn(p->fmt.u.s + from, p->at - from));
	p->at++;
	if (out->kind == LMI_JINJA_V_UNDEF)
		lmi_jinja_run_fail(p->run, "format: there is no key '%.*s'", (int)out->n, out->u.s);
	return !p->run->failed;
}

/* Parses a number, or * for the next value. */
static bool percent_size(struct percent *p, int64_t *out)
{
	*out = 0;
	if (p->at < p->fmt.n && p->fmt.u.s[p->at] == '*') {
		p->at++;
		*out = lmi_jinja_param_int(p->run, next_value(p), 0, "the * of a format");
	}
	while (p->at < p->fmt.n && isdigit((unsigned char)p->fmt.u.s[p->at]) &&
	       *out <= LMI_JINJA_SPEC_MAX)
		*out = *out * 10 + p->fmt.u.s[p->at++] - '0';
	if (*out > LMI_JINJA_SPEC_MAX || *out < -LMI_JINJA_SPEC_MAX)
		lmi_jinja_run_fail(p->run, "the width or precision of a format is more than %d",
				   LMI_JINJA_SPEC_MAX);
	return !p->run->failed;
}

static bool percent_flags(struct percent *p, struct lmi_jinja_spec *s)
{
	int64_t n;
	bool zero = false;

	s->align = '>';
	for (; p->at < p->fmt.n && strchr("-+ #0", p->fmt.u.s[p->at]) && p->fmt.u.s[p->at];
	     p->at++) {
		char c = p->fmt.u.s[p->at];

		zero |= c == '0';
		s->alt |= c == '#';
		if (c == '-')
			s->align = '<';
		else if (c == '+' || (c == ' ' && s->sign != '+'))
			s->sign = c;
	}
	if (!percent_size(p, &n))
		return false;
	if (n < 0)
		s->align = '<';
	s->width = (uint32_t)(n < 0 ? -n : n);
	if (p->at < p->fmt.n && p->fmt.u.s[p->at] == '.') {
		p->at++;
		if (!percent_size(p, &n))
			return false;
		s->precision = n < 0 ? 0 : (int32_t)n;
	}
	if (zero && s->align == '>') {
		s->align = '=';
		s->fill = '0';
	}
	if (p->at < p->fmt.n && strchr("hlL", p->fmt.u.s[p->at]))
		p->at++;
	return true;
}

/* Formats an integer with at least `precision` digits, which %d supports and format() does not. */
static void percent_int(struct percent *p, struct lmi_jinja_spec *s, struct lmi_jinja_val v)
{
	int64_t i;

	if (v.kind == LMI_JINJA_V_FLOAT && strchr("diu", s->type) && fabs(v.u.f) < 0x1p63) {
		i = (int64_t)v.u.f;
	} else if (v.kind == LMI_JINJA_V_FLOAT && strchr("diu", s->type)) {
		lmi_jinja_run_fail_status(p->run, LMD_UNSUPPORTED, "%g does not fit in 64 bits",
					  v.u.f);
		return;
	} else if (lmi_jinja_is_integer(v)) {
		i = lmi_jinja_integer(v);
	} else {
		lmi_jinja_run_fail(p->run, "%%%c format: a number is required, not %s", s->type,
				   lmi_jinja_val_type(v));
		return;
	}
	if (strchr("iu", s->type))
		s->type = 'd';
	if (s->precision >= 0) {
		struct lmi_jinja_str_buf b = {.run = p->run};
		struct lmi_jinja_spec digits = {.fill = '0',
						.align = '=',
						.precision = -1,
						.type = s->type,
						.sign = s->sign,
						.alt = s->alt,
						.width = (uint32_t)s->precision +
							 (i < 0 || s->sign) +
							 (s->alt && s->type != 'd' ? 2 : 0)};

		lmi_jinja_spec_int(&b, &digits, i);
		s->sign = 0;
		s->alt = false;
		s->precision = -1;
		s->type = 0;
		s->align = s->align == '=' ? '>' : s->align;
		s->fill = ' ';
		lmi_jinja_spec_str(&p->b, s, lmi_jinja_buf_done(&b));
		return;
	}
	lmi_jinja_spec_int(&p->b, s, i);
}

static void percent_text(struct percent *p, struct lmi_jinja_spec *s, struct lmi_jinja_val v)
{
	if (s->type == 's')
		v = p->fmt.flags & LMI_JINJA_VF_SAFE ? lmi_jinja_val_escape(p->run, v)
						     : lmi_jinja_val_text(p->run, v);
	else
		v = s->type == 'a' ? lmi_jinja_val_ascii(p->run, v) : lmi_jinja_val_repr(p->run, v);
	s->type = 0;
	s->sign = 0;
	s->alt = false;
	s->fill = ' ';
	s->align = s->align == '=' ? '>' : s->align;
	lmi_jinja_spec_str(&p->b, s, v);
}

static void percent_char(struct percent *p, struct lmi_jinja_spec *s, struct lmi_jinja_val v)
{
	s->precision = -1;
	s->sign = 0;
	s->alt = false;
	if (v.kind == LMI_JINJA_V_STR && lmi_jinja_val_length(v) == 1) {
		s->type = 's';
		percent_text(p, s, v);
		return;
	}
	if (!lmi_jinja_is_integer(v))
		lmi_jinja_run_fail(p->run, "%%c requires an integer or a character");
	else
		lmi_jinja_spec_int(&p->b, s, lmi_jinja_integer(v));
}

/* Formats one conversion, starting after its %. */
static void percent_one(struct percent *p)
{
	struct lmi_jinja_spec s = {.fill = ' ', .precision = -1};
	struct lmi_jinja_val v = lmi_jinja_missing();

	if (p->at < p->fmt.n && p->fmt.u.s[p->at] == '%') {
		lmi_jinja_buf_char(&p->b, '%');
		p->at++;
		return;
	}
	if (p->at < p->fmt.n && p->fmt.u.s[p->at] == '(' && !named_value(p, &v))
		return;
	if (!percent_flags(p, &s))
		return;
	if (p->at == p->fmt.n) {
		lmi_jinja_run_fail(p->run, "incomplete format");
		return;
	}
	s.type = p->fmt.u.s[p->at++];
	if (!lmi_jinja_val_is_given(v))
		v = next_value(p);
	if (p->run->failed)
		return;
	if (strchr("diuxXo", s.type)) {
		percent_int(p, &s, v);
	} else if (strchr("eEfFgG", s.type)) {
		if (lmi_jinja_is_number(v))
			lmi_jinja_spec_float(&p->b, &s, lmi_jinja_number(v));
		else
			lmi_jinja_run_fail(p->run, "must be real number, not %s",
					   lmi_jinja_val_type(v));
	} else if (strchr("sra", s.type)) {
		percent_text(p, &s, v);
	} else if (s.type == 'c') {
		percent_char(p, &s, v);
	} else {
		lmi_jinja_run_fail(p->run, "unsupported format character '%c'", s.type);
	}
}

struct lmi_jinja_val lmi_jinja_format_percent(struct lmi_jinja_run *run, struct lmi_jinja_val fmt,
					      struct lmi_jinja_val arg)
{
	struct percent p = {.run = run, .fmt = fmt, .arg = arg, .b = {.run = run}};
	struct lmi_jinja_val out;
	bool all;

	while (p.at < fmt.n && lmi_jinja_run_step(run, 1)) {
		const char *pct = memchr(fmt.u.s + p.at, '%', fmt.n - p.at);
		size_t end = pct ? (size_t)(pct - fmt.u.s) : fmt.n;

		lmi_jinja_buf_add(&p.b, fmt.u.s + p.at, end - p.at);
		p.at = end;
		if (pct) {
			p.at++;
			percent_one(&p);
		}
	}
	/* a mapping, or anything else that can be subscripted, may stay unused */
	all = arg.kind == LMI_JINJA_V_TUPLE
		      ? p.next == arg.u.list->n
		      : p.next || (arg.kind != LMI_JINJA_V_STR && lmi_jinja_val_length(arg) >= 0);
	if (!all)
		lmi_jinja_run_fail(run, "not all arguments converted during string formatting");
	out = lmi_jinja_buf_done(&p.b);
	out.flags = fmt.flags;
	return out;
}
