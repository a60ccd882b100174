/* SPDX-License-Identifier: MIT
 *
 * Rewrites a regular expression as GBNF, piece by piece: both have groups, alternatives, classes and
 * repetition.  Characters are written by number, so that none of them has a meaning in GBNF. */
#include "daemon/http/regex_grammar.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/utf8.h"
#include "llamad/attr.h"
#include "proto/buf.h"

struct regex {
	const char *p;
	size_t n, i, max;
	uint32_t depth;
	bool atom; /* something that can be repeated precedes */
	struct lmi_wire_buf out;
	struct lmd_error *err;
	enum lmd_status st;
};

static void fail(struct regex *r, enum lmd_status st, const char *what)
{
	if (r->st == LMD_OK)
		r->st = lmd_fail(r->err, st, "byte %zu of the regular expression: %s", r->i, what);
}

static void put(struct regex *r, const char *fmt, ...) LMD_PRINTF(2, 3);

static void put(struct regex *r, const char *fmt, ...)
{
	char text[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r->st == LMD_OK && r->out.n + (size_t)n > r->max)
		r->st = lmd_fail(r->err, LMD_INVALID,
				 "the grammar of the regular expression has more than %zu bytes",
				 r->max);
	if (r->st == LMD_OK && !lmi_wire_buf_add(&r->out, text, (size_t)n))
		r->st = lmd_fail(r->err, LMD_NOMEM, "no memory for a grammar");
}

static char peek(const struct regex *r, size_t ahead)
{
	return r->i + ahead < r->n ? r->p[r->i + ahead] : '\0';
}

static bool skip(struct regex *r, const char *text)
{
	size_t len = strlen(text);

	if (r->n - r->i < len || memcmp(r->p + r->i, text, len) != 0)
		return false;
	r->i += len;
	return true;
}

/* ---- characters ---- */

/* Returns the members of \d, \w or \s; NULL: c is none of them, in lower or upper case. */
static const char *set_of(char c)
{
	switch (c) {
	case 'd':
	case 'D':
		return "0-9";
	case 'w':
	case 'W':
		return "a-zA-Z0-9_";
	case 's':
	case 'S':
		return "\\x09-\\x0d ";
	default:
		return NULL;
	}
}

static uint32_t hex(struct regex *r, int digits)
{
	uint32_t v = 0;

	for (int k = 0; k < digits; k++) {
		char c = peek(r, 0);
		int d = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (d < 0) {
			fail(r, LMD_INVALID, "expected a hexadecimal digit");
			return 0;
		}
		v = v * 16 + (uint32_t)d;
		r->i++;
	}
	return v;
}

/* Reads what follows a backslash, other than a set. */
static uint32_t escaped(struct regex *r)
{
	static const char from[] = "tnrvf", to[] = "\t\n\r\v\f";
	char c = peek(r, 0);
	const char *k = c ? strchr(from, c) : NULL;

	if (r->i == r->n) {
		fail(r, LMD_INVALID, "a backslash at the end");
		return 0;
	}
	if (k) {
		r->i++;
		return (unsigned char)to[k - from];
	}
	if (c == 'x' || c == 'u') {
		r->i++;
		return hex(r, c == 'x' ? 2 : 4);
	}
	if (c >= '0' && c <= '9')
		fail(r, LMD_UNSUPPORTED, "back references are not supported");
	else if (c == 'b' || c == 'B')
		fail(r, LMD_UNSUPPORTED, "word boundaries are not supported");
	else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		fail(r, LMD_INVALID, "unknown escape sequence");
	return r->st == LMD_OK ? lmi_utf8_next(r->p, r->n, &r->i) : 0;
}

static uint32_t character(struct regex *r)
{
	uint32_t c = skip(r, "\\") ? escaped(r) : lmi_utf8_next(r->p, r->n, &r->i);

	if (r->st == LMD_OK && c > 0x10ffff)
		fail(r, LMD_INVALID, "invalid UTF-8");
	return c;
}

static void put_number(struct regex *r, uint32_t c)
{
	put(r, "\\U%08x", c);
}

/* Reads one member of a class; returns false if it is a set, which has been written. */
static bool class_member(struct regex *r, uint32_t *c)
{
	const char *set = peek(r, 0) == '\\' ? set_of(peek(r, 1)) : NULL;

	if (!set) {
		*c = character(r);
		return true;
	}
	if (peek(r, 1) < 'a')
		fail(r, LMD_UNSUPPORTED, "\\D, \\W and \\S are not supported inside of a class");
	put(r, "%s", set);
	r->i += 2;
	return false;
}

static void class(struct regex *r)
{
	bool first = true;

	put(r, "[%s", skip(r, "^") ? "^" : "");
	while (r->st == LMD_OK && (first || peek(r, 0) != ']')) {
		uint32_t lo, hi;

		if (r->i >= r->n) {
			fail(r, LMD_INVALID, "expected ']'");
			return;
		}
		first = false;
		if (!class_member(r, &lo))
			continue;
		put_number(r, lo);
		if (peek(r, 0) != '-' || !peek(r, 1) || peek(r, 1) == ']')
			continue;
		r->i++;
		if (peek(r, 0) == '\\' && set_of(peek(r, 1))) {
			fail(r, LMD_INVALID, "a range ends with a set");
			return;
		}
		hi = character(r);
		if (hi < lo)
			fail(r, LMD_INVALID, "the ends of a range are in the wrong order");
		put(r, "-");
		put_number(r, hi);
	}
	r->i++;
	put(r, "] ");
	r->atom = true;
}

/* ---- structure ---- */

static void open_group(struct regex *r)
{
	if (++r->depth > LMI_HTTP_REGEX_DEPTH)
		fail(r, LMD_INVALID, "groups are nested too deeply");
	if (peek(r, 0) == '?' && !skip(r, "?:")) {
		bool named = skip(r, "?P<") || skip(r, "?<");

		if (!named || peek(r, 0) == '=' || peek(r, 0) == '!')
			fail(r, LMD_UNSUPPORTED, "look-around and flags are not supported");
		while (r->i < r->n && peek(r, 0) != '>')
			r->i++;
		if (!skip(r, ">"))
			fail(r, LMD_INVALID, "expected '>'");
	}
	put(r, "(\"\" ");
	r->atom = false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint32_t count(struct regex *r)
{
	uint32_t v = 0;

	while (is_digit(peek(r, 0)) && v < 100000)
		v = v * 10 + (uint32_t)(r->p[r->i++] - '0');
	return v;
}

/* Reads {N}, {N,} or {N,M}; the brace has been read. */
static void counts(struct regex *r)
{
	uint32_t lo = count(r);

	if (skip(r, "}")) {
		put(r, "{%u} ", lo);
		return;
	}
	if (skip(r, ",}")) {
		put(r, "{%u,} ", lo);
		return;
	}
	if (skip(r, ",") && is_digit(peek(r, 0))) {
		uint32_t hi = count(r);

		if (skip(r, "}")) {
			if (hi < lo)
				fail(r, LMD_INVALID, "the bounds of a repetition are in the wrong order");
			put(r, "{%u,%u} ", lo, hi);
			return;
		}
	}
	fail(r, LMD_INVALID, "expected {N}, {N,} or {N,M}");
}

static void repeat(struct regex *r, char c)
{
	if (!r->atom)
		fail(r, LMD_INVALID, "nothing to repeat");
	if (c == '{')
		counts(r);
	else
		put(r, "%c ", c);
	(void)skip(r, "?"); /* a lazy repetition matches the same texts */
	if (peek(r, 0) == '+')
		fail(r, LMD_UNSUPPORTED, "possessive repetitions are not supported");
	r->atom = false;
}

static bool at_end(const struct regex *r)
{
	return r->i == r->n || peek(r, 0) == '|' || peek(r, 0) == ')';
}

static void anchor(struct regex *r, char c, bool begins)
{
	if (c == '^' ? !begins : !at_end(r))
		fail(r, LMD_UNSUPPORTED, "an anchor inside of the expression is not supported");
}

static void plain(struct regex *r)
{
	const char *set = peek(r, 0) == '\\' ? set_of(peek(r, 1)) : NULL;

	if (set) {
		put(r, "[%s%s] ", peek(r, 1) < 'a' ? "^" : "", set);
		r->i += 2;
	} else {
		put(r, "\"");
		put_number(r, character(r));
		put(r, "\" ");
	}
	r->atom = true;
}

/* Rewrites the next piece.  begins: nothing of the whole expression or alternative precedes. */
static bool piece(struct regex *r, bool begins)
{
	char c = peek(r, 0);

	if (!c || !strchr("^$.|()[*+?{", c)) {
		plain(r);
		return false;
	}
	r->i++;
	switch (c) {
	case '^':
	case '$':
		anchor(r, c, begins);
		return begins;
	case '.':
		put(r, "[^\\n\\r] ");
		r->atom = true;
		return false;
	case '|':
		put(r, "| \"\" ");
		r->atom = false;
		return true;
	case '(':
		open_group(r);
		return begins;
	case ')':
		if (!r->depth)
			fail(r, LMD_INVALID, "')' without '('");
		r->depth--;
		put(r, ") ");
		r->atom = true;
		return false;
	case '[':
		class(r);
		return false;
	default:
		repeat(r, c);
		return false;
	}
}

enum lmd_status lmi_http_regex_grammar(struct lmd_str *out, const struct lmd_str *regex, size_t max,
				       struct lmd_arena *arena, struct lmd_error *err)
{
	struct regex r = {.p = regex->ptr, .n = regex->len, .max = max, .err = err, .st = LMD_OK};
	bool begins = true;

	put(&r, "root ::= \"\" ");
	while (r.st == LMD_OK && r.i < r.n)
		begins = piece(&r, begins);
	if (r.depth)
		fail(&r, LMD_INVALID, "expected ')'");
	if (r.st == LMD_OK) {
		out->ptr = lmi_arena_strndup(arena, (const char *)r.out.p, r.out.n);
		out->len = r.out.n;
		if (!out->ptr)
			r.st = lmd_fail(err, LMD_NOMEM, "no memory for a grammar");
	}
	lmi_wire_buf_fini(&r.out);
	return r.st;
}
