/* SPDX-License-Identifier: MIT
 *
 * Formatting of numbers and strings: signs, digits, grouping and padding. */
#include "core/jinja/spec.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

/* Maximum digits of a float: 309 before the point and as many after it as fit. */
#define DIGITS_MAX 500

static bool is_align(uint32_t c)
{
	return c == '<' || c == '>' || c == '^' || c == '=';
}

/* Parses a decimal number at s[*at], up to LMI_JINJA_SPEC_MAX. */
static bool parse_size(struct lmi_jinja_run *run, struct lmi_jinja_val t, size_t *at, uint32_t *out)
{
	uint32_t n = 0;

	while (*at < t.n && isdigit((unsigned char)t.u.s[*at])) {
		n = n * 10 + (uint32_t)(t.u.s[(*at)++] - '0');
		if (n > LMI_JINJA_SPEC_MAX) {
			lmi_jinja_run_fail(run,
					   "the width or precision of a format is more than %d",
					   LMI_JINJA_SPEC_MAX);
			return false;
		}
	}
	*out = n;
	return true;
}

static char peek(struct lmi_jinja_val t, size_t at)
{
	return at < t.n ? t.u.s[at] : '\0';
}

bool lmi_jinja_spec_parse(struct lmi_jinja_run *run, struct lmi_jinja_val t,
			  struct lmi_jinja_spec *s)
{
	size_t at = 0, next = 0;
	uint32_t first = t.n ? lmi_unicode_next(t.u.s, t.n, &next) : 0, n;
	bool filled = false;

	*s = (struct lmi_jinja_spec){.fill = ' ', .precision = -1};
	if (first && is_align((unsigned char)peek(t, next))) {
		s->fill = first;
		filled = true;
		s->align = peek(t, next);
		at = next + 1;
	} else if (is_align(first)) {
		s->align = (char)first;
		at = 1;
	}
	if (strchr("+- ", peek(t, at)) && peek(t, at))
		s->sign = t.u.s[at++];
	if (peek(t, at) == 'z') {
		s->plain_zero = true;
		at++;
	}
	if (peek(t, at) == '#') {
		s->alt = true;
		at++;
	}
	if (peek(t, at) == '0') {
		s->fill = filled ? s->fill : '0';
		s->zero = true;
		at++;
	}
	if (!parse_size(run, t, &at, &s->width))
		return false;
	if (peek(t, at) == ',' || peek(t, at) == '_')
		s->group = t.u.s[at++];
	if (peek(t, at) == '.') {
		at++;
		if (!isdigit((unsigned char)peek(t, at))) {
			lmi_jinja_run_fail(run, "format specifier missing precision");
			return false;
		}
		if (!parse_size(run, t, &at, &n))
			return false;
		s->precision = (int32_t)n;
	}
	if (at < t.n)
		s->type = t.u.s[at++];
	if (at == t.n)
		return true;
	lmi_jinja_run_fail(run, "invalid format specifier '%.*s'", (int)t.n, t.u.s);
	return false;
}

/* Appends head (sign and prefix) and body, padded. */
static void put(struct lmi_jinja_str_buf *b, const struct lmi_jinja_spec *s, char def_align,
		const char *head, struct lmi_jinja_val body)
{
	uint64_t n = strlen(head) + (uint64_t)lmi_jinja_val_length(body);
	uint64_t room = s->width > n ? s->width - n : 0, left = room;
	char align = s->align ? s->align : s->zero && def_align == '>' ? '=' : def_align;

	if (align == '<' || align == '=')
		left = 0;
	else if (align == '^')
		left = room / 2;
	lmi_jinja_buf_fill(b, s->fill, left);
	lmi_jinja_buf_str(b, head);
	if (align == '=')
		lmi_jinja_buf_fill(b, s->fill, room);
	lmi_jinja_buf_val(b, body);
	if (align != '=')
		lmi_jinja_buf_fill(b, s->fill, room - left);
}

void lmi_jinja_spec_str(struct lmi_jinja_str_buf *b, const struct lmi_jinja_spec *s,
			struct lmi_jinja_val v)
{
	if ((s->type && s->type != 's') || s->sign || s->plain_zero || s->alt || s->group ||
	    s->align == '=') {
		lmi_jinja_run_fail(b->run, "a string cannot be formatted as a number");
		return;
	}
	if (s->precision >= 0)
		v = lmi_jinja_strn(v.u.s, lmi_unicode_offset(v.u.s, v.n, (size_t)s->precision));
	put(b, s, '<', "", v);
}

/* Inserts `mark` between groups of `every` digits of the whole part, the first n_whole
 * characters. */
static struct lmi_jinja_val grouped(struct lmi_jinja_run *run, const char *text, size_t n_whole,
				    char mark, size_t every)
{
	struct lmi_jinja_str_buf b = {.run = run};
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++) {
		if (mark && i && i < n_whole && (n_whole - i) % every == 0)
			lmi_jinja_buf_char(&b, (unsigned char)mark);
		lmi_jinja_buf_add(&b, text + i, 1);
	}
	return lmi_jinja_buf_done(&b);
}

static const char *sign_of(const struct lmi_jinja_spec *s, bool negative)
{
	return negative ? "-" : s->sign == '+' ? "+" : s->sign == ' ' ? " " : "";
}

static void put_binary(char text[72], uint64_t v)
{
	int n = 0;

	do {
		n++;
	} while (n < 64 && v >> n);
	for (int i = 0; i < n; i++)
		text[i] = (char)('0' + (v >> (n - 1 - i) & 1));
	text[n] = '\0';
}

void lmi_jinja_spec_int(struct lmi_jinja_str_buf *b, const struct lmi_jinja_spec *s, int64_t v)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char type = s->type ? s->type : 'd', text[72], head[4];
	const char *prefix = "";

	if (strchr("eEfFgG%", type)) {
		lmi_jinja_spec_float(b, s, (double)v);
		return;
	}
	switch (type) {
	case 'd':
	case 'n':
		(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)u);
		break;
	case 'x':
	case 'X':
		(void)snprintf(text, sizeof(text), type == 'x' ? "%llx" : "%llX",
			       (unsigned long long)u);
		prefix = type == 'x' ? "0x" : "0X";
		break;
	case 'o':
		(void)snprintf(text, sizeof(text), "%llo", (unsigned long long)u);
		prefix = "0o";
		break;
	case 'b':
		put_binary(text, u);
		prefix = "0b";
		break;
	case 'c':
		if (v < 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) {
			lmi_jinja_run_fail(b->run, "%lld is not a character", (long long)v);
			return;
		}
		text[lmi_utf8_put(text, (uint32_t)v)] = '\0';
		put(b, s, '<', "", lmi_jinja_str_copy(b->run, text, strlen(text)));
		return;
	default:
		lmi_jinja_run_fail(b->run, "unknown format code '%c' for an integer", type);
		return;
	}
	if (s->precision >= 0 || s->plain_zero) {
		lmi_jinja_run_fail(b->run, "a precision is not allowed for an integer");
		return;
	}
	(void)snprintf(head, sizeof(head), "%s%s", sign_of(s, v < 0), s->alt ? prefix : "");
	put(b, s, '>', head, grouped(b->run, text, strlen(text), s->group, *prefix ? 4 : 3));
}

/* Formats |v| without a sign. */
static bool float_digits(struct lmi_jinja_run *run, const struct lmi_jinja_spec *s, double v,
			 char *text, size_t n)
{
	int precision = s->precision < 0 ? 6 : s->precision;
	char fmt[8], type = s->type == '%' ? 'f' : s->type;

	if (precision > DIGITS_MAX) {
		lmi_jinja_run_fail(run, "a float is formatted with at most %d digits", DIGITS_MAX);
		return false;
	}
	if (!type && s->precision < 0) {
		lmi_jinja_float_text(v, text);
		return true;
	}
	(void)snprintf(fmt, sizeof(fmt), "%%%s.*%c", s->alt ? "#" : "", type ? type : 'g');
	/* the format was built above from a fixed set */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, n, fmt, type ? precision : precision ? precision : 1, v);
#pragma GCC diagnostic pop
	if (!type && !strpbrk(text, ".en"))
		(void)strcat(text, ".0");
	if (s->type == '%')
		(void)strcat(text, "%");
	return true;
}

void lmi_jinja_spec_float(struct lmi_jinja_str_buf *b, const struct lmi_jinja_spec *s, double v)
{
	char text[DIGITS_MAX + 400];
	double a = s->type == '%' ? fabs(v) * 100 : fabs(v);
	bool negative;

	if (s->type && !strchr("eEfFgG%n", s->type)) {
		lmi_jinja_run_fail(b->run, "unknown format code '%c' for a float", s->type);
		return;
	}
	if (isnan(v) || isinf(v)) {
		bool upper = s->type && isupper((unsigned char)s->type);

		(void)snprintf(text, sizeof(text), "%s%s",
			       isnan(v) ? upper ? "NAN" : "nan"
			       : upper	? "INF"
					: "inf",
			       s->type == '%' ? "%" : "");
	} else {
		struct lmi_jinja_spec t = *s;

		t.type = s->type == 'n' ? 'g' : s->type;
		if (!float_digits(b->run, &t, a, text, sizeof(text)))
			return;
	}
	negative = signbit(v) && !isnan(v);
	if (s->plain_zero && strspn(text, "0.e+%") == strlen(text))
		negative = false;
	put(b, s, '>', sign_of(s, negative),
	    grouped(b->run, text, strspn(text, "0123456789"), s->group, 3));
}
