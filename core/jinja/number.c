/* SPDX-License-Identifier: MIT
 *
 * Numbers: parsing, rounding, and their methods and filters. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/jinja/builtin.h"

/* Maximum length of a number that is parsed. */
#define NUMBER_MAX 400

static int digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	if (isalpha((unsigned char)c))
		return tolower((unsigned char)c) - 'a' + 10;
	return 99;
}

bool lmi_jinja_val_parse_integer(struct lmi_jinja_run *run, struct lmi_jinja_val text, int base,
				 int64_t *out)
{
	struct lmi_jinja_val t = lmi_jinja_str_strip(run, text, lmi_jinja_none(), LMI_JINJA_BOTH);
	bool negative = t.n && t.u.s[0] == '-', overflow = false, zeros = true;
	uint32_t i = negative || (t.n && t.u.s[0] == '+');
	int prefix = 0;
	int64_t v = 0;

	if (i + 1 < t.n && t.u.s[i] == '0') {
		char c = (char)tolower((unsigned char)t.u.s[i + 1]);

		prefix = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
	}
	if (prefix && (base == 0 || base == prefix)) {
		base = prefix;
		i += 2;
		i += i < t.n && t.u.s[i] == '_';
	} else if (base == 0) {
		prefix = -1; /* a decimal number must not start with 0 */
		base = 10;
	}
	if (i == t.n)
		return false;
	for (uint32_t from = i; i < t.n; i++) {
		if (t.u.s[i] == '_' && i > from && t.u.s[i - 1] != '_' && i + 1 < t.n)
			continue;
		if (digit(t.u.s[i]) >= base)
			return false;
		if (prefix == -1 && zeros && i > from && t.u.s[i] != '0')
			return false;
		zeros &= t.u.s[i] == '0';
		overflow |= __builtin_mul_overflow(v, base, &v) ||
			    __builtin_sub_overflow(v, digit(t.u.s[i]), &v);
	}
	overflow |= !negative && __builtin_sub_overflow(0, v, &v);
	if (overflow)
		lmi_jinja_run_fail_status(run, LMD_UNSUPPORTED,
					  "an integer does not fit in 64 bits");
	*out = v;
	return true;
}

static bool is_word(const char *s, const char *word)
{
	return !strcasecmp(s, word);
}

bool lmi_jinja_val_parse_float(struct lmi_jinja_val t, double *out)
{
	char text[NUMBER_MAX];
	size_t n = 0, from = 0, to = t.n, at;
	const char *p = text;
	char *end;

	while (from < to && (at = from, lmi_unicode_space(lmi_unicode_next(t.u.s, to, &at))))
		from = at;
	while (to > from && (at = to, lmi_unicode_space(lmi_unicode_prev(t.u.s, &at))))
		to = at;
	if (from == to || to - from >= sizeof(text))
		return false;
	for (at = from; at < to; at++) {
		char c = t.u.s[at];

		if (c == '_' && at > from && isdigit((unsigned char)t.u.s[at - 1]) && at + 1 < to &&
		    isdigit((unsigned char)t.u.s[at + 1]))
			continue;
		text[n++] = c;
	}
	text[n] = '\0';
	p += *p == '-' || *p == '+';
	if (!is_word(p, "inf") && !is_word(p, "infinity") && !is_word(p, "nan") &&
	    strspn(p, "0123456789.eE+-") != strlen(p))
		return false;
	*out = strtod(text, &end);
	return end != text && !*end;
}

double lmi_jinja_round_float(double f, int64_t digits)
{
	char text[800];
	double p, y, r;

	if (isnan(f) || isinf(f) || digits > 323)
		return f;
	if (digits >= 0) { /* printf rounds the exact binary value, halves to even */
		(void)snprintf(text, sizeof(text), "%.*f", (int)digits, f);
		return strtod(text, NULL);
	}
	if (digits < -308)
		return copysign(0.0, f);
	p = pow(10.0, (double)-digits);
	y = f / p;
	r = round(y);
	if (fabs(y - trunc(y)) == 0.5)
		r = 2.0 * round(y / 2.0);
	return r * p;
}

/* Filters */

static LMI_JINJA_BUILTIN(f_abs)
{
	(void)a;
	if (lmi_jinja_is_integer(self))
		return lmi_jinja_integer(self) < 0 ? lmi_jinja_val_negate(run, self)
						   : lmi_jinja_int(lmi_jinja_integer(self));
	if (self.kind == LMI_JINJA_V_FLOAT)
		return lmi_jinja_float(fabs(self.u.f));
	lmi_jinja_run_fail(run, "bad operand type for abs(): '%s'", lmi_jinja_val_type(self));
	return self;
}

static bool fail_undefined(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	if (v.kind == LMI_JINJA_V_UNDEF)
		lmi_jinja_run_fail(run, "'%.*s' is undefined", (int)v.n, v.u.s);
	return v.kind == LMI_JINJA_V_UNDEF;
}

/* Truncates a float to an integer; fails the run if it does not fit. */
static bool truncate(struct lmi_jinja_run *run, double f, int64_t *out)
{
	if (isnan(f))
		return false;
	if (f >= 0x1p63 || f < -0x1p63) {
		lmi_jinja_run_fail_status(run, LMD_UNSUPPORTED, "%g does not fit in 64 bits", f);
		return true;
	}
	*out = (int64_t)f;
	return true;
}

static LMI_JINJA_BUILTIN(f_int)
{
	int64_t base = lmi_jinja_param_int(run, a[1], 10, "the base"), i = 0;
	double f;

	if (fail_undefined(run, self))
		return self;
	if (lmi_jinja_is_integer(self))
		return lmi_jinja_int(lmi_jinja_integer(self));
	if (self.kind == LMI_JINJA_V_STR && (base == 0 || (base >= 2 && base <= 36)) &&
	    lmi_jinja_val_parse_integer(run, self, (int)base, &i))
		return lmi_jinja_int(i);
	f = self.kind == LMI_JINJA_V_FLOAT ? self.u.f : NAN;
	if (self.kind == LMI_JINJA_V_STR && !lmi_jinja_val_parse_float(self, &f))
		f = NAN;
	if (truncate(run, f, &i))
		return lmi_jinja_int(i);
	return lmi_jinja_val_is_given(a[0]) ? a[0] : lmi_jinja_int(0);
}

static LMI_JINJA_BUILTIN(f_float)
{
	double f;

	if (fail_undefined(run, self))
		return self;
	if (lmi_jinja_is_number(self))
		return lmi_jinja_float(lmi_jinja_number(self));
	if (self.kind == LMI_JINJA_V_STR && lmi_jinja_val_parse_float(self, &f))
		return lmi_jinja_float(f);
	return lmi_jinja_val_is_given(a[0]) ? a[0] : lmi_jinja_float(0.0);
}

/* Rounds to a multiple of 10^-digits, halves to even; fails the run if it does not fit. */
static struct lmi_jinja_val round_int(struct lmi_jinja_run *run, int64_t v, int64_t digits)
{
	int64_t p = 1, rest, towards_zero;

	for (; digits < 0; digits++) {
		if (__builtin_mul_overflow(p, 10, &p))
			return lmi_jinja_int(0);
	}
	rest = v % p;
	towards_zero = v - rest;
	rest = rest < 0 ? -rest : rest;
	if (rest > p - rest || (rest == p - rest && (towards_zero / p) % 2))
		return lmi_jinja_val_binary(run, v < 0 ? LMI_JINJA_OP_SUB : LMI_JINJA_OP_ADD,
					    lmi_jinja_int(towards_zero), lmi_jinja_int(p));
	return lmi_jinja_int(towards_zero);
}

static LMI_JINJA_BUILTIN(f_round)
{
	int64_t digits = lmi_jinja_param_int(run, a[0], 0, "the precision");
	struct lmi_jinja_val method = lmi_jinja_param_str(run, a[1], "common", "the method"), p, v;

	if (!lmi_jinja_str_eq(method, "common") && !lmi_jinja_str_eq(method, "ceil") &&
	    !lmi_jinja_str_eq(method, "floor")) {
		lmi_jinja_run_fail(run, "round: method must be common, ceil or floor");
		return self;
	}
	if (!lmi_jinja_is_number(self)) {
		if (!fail_undefined(run, self))
			lmi_jinja_run_fail(run, "type %s cannot be rounded",
					   lmi_jinja_val_type(self));
		return self;
	}
	if (lmi_jinja_str_eq(method, "common")) {
		if (self.kind == LMI_JINJA_V_FLOAT)
			return lmi_jinja_float(lmi_jinja_round_float(self.u.f, digits));
		return round_int(run, lmi_jinja_integer(self), digits < 0 ? digits : 0);
	}
	p = lmi_jinja_val_binary(run, LMI_JINJA_OP_POW, lmi_jinja_int(10), lmi_jinja_int(digits));
	v = lmi_jinja_val_binary(run, LMI_JINJA_OP_MUL, self, p);
	if (v.kind == LMI_JINJA_V_FLOAT)
		v = lmi_jinja_float(lmi_jinja_str_eq(method, "ceil") ? ceil(v.u.f) : floor(v.u.f));
	return lmi_jinja_val_binary(run, LMI_JINJA_OP_DIV, v, p);
}

static LMI_JINJA_BUILTIN(f_filesizeformat)
{
	static const char *const units[2][8] = {
		{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"},
		{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"},
	};
	bool binary = lmi_jinja_param_truth(a[0], false);
	double base = binary ? 1024.0 : 1000.0, bytes, unit = base;
	struct lmi_jinja_str_buf b = {.run = run};
	int i = 0;

	if (lmi_jinja_is_number(self)) {
		bytes = lmi_jinja_number(self);
	} else if (self.kind != LMI_JINJA_V_STR || !lmi_jinja_val_parse_float(self, &bytes)) {
		if (!fail_undefined(run, self))
			lmi_jinja_run_fail(run, "filesizeformat needs a number");
		return self;
	}
	if (bytes == 1.0)
		return lmi_jinja_str("1 Byte");
	if (bytes < base) {
		lmi_jinja_buf_printf(&b, "%.0f Bytes", trunc(bytes) + 0.0); /* turns -0 into 0 */
		return lmi_jinja_buf_done(&b);
	}
	while (i < 7 && bytes >= unit * base) {
		unit *= base;
		i++;
	}
	lmi_jinja_buf_printf(&b, "%.1f %s", base * bytes / (unit * base), units[binary][i]);
	return lmi_jinja_buf_done(&b);
}

static const struct lmi_jinja_builtin filters[] = {
	{.name = "abs", .fn = f_abs, .params = ""},
	{.name = "int", .fn = f_int, .params = "default base"},
	{.name = "float", .fn = f_float, .params = "default"},
	{.name = "round", .fn = f_round, .params = "precision method"},
	{.name = "filesizeformat", .fn = f_filesizeformat, .params = "binary"},
};

const struct lmi_jinja_table lmi_jinja_number_filters = LMI_JINJA_TABLE(filters);

/* Methods */

static LMI_JINJA_BUILTIN(m_same)
{
	(void)run;
	(void)a;
	return self.kind == LMI_JINJA_V_BOOL ? lmi_jinja_int(self.u.b) : self;
}

static LMI_JINJA_BUILTIN(m_is_integer)
{
	(void)a;
	if (self.kind != LMI_JINJA_V_FLOAT)
		lmi_jinja_run_fail(run, "an int has no method is_integer");
	return lmi_jinja_bool(isfinite(lmi_jinja_number(self)) &&
			      lmi_jinja_number(self) == floor(lmi_jinja_number(self)));
}

static LMI_JINJA_BUILTIN(m_bit_length)
{
	uint64_t v;
	int n = 0;

	(void)a;
	if (self.kind == LMI_JINJA_V_FLOAT)
		lmi_jinja_run_fail(run, "a float has no method bit_length");
	v = lmi_jinja_is_integer(self) && lmi_jinja_integer(self) < 0
		    ? 0 - (uint64_t)lmi_jinja_integer(self)
		    : (uint64_t)self.u.i;
	while (n < 64 && v >> n)
		n++;
	return lmi_jinja_int(n);
}

static const struct lmi_jinja_builtin methods[] = {
	{.name = "conjugate", .fn = m_same, .params = ""},
	{.name = "is_integer", .fn = m_is_integer, .params = ""},
	{.name = "bit_length", .fn = m_bit_length, .params = ""},
};

const struct lmi_jinja_table lmi_jinja_number_methods = LMI_JINJA_TABLE(methods);
