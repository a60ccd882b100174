/* SPDX-License-Identifier: MIT
 *
 * Regular expressions of ECMAScript (with the flag u) over the characters of a string as JSON
 * writes them. What a grammar cannot express (look-around, back references, word boundaries,
 * Unicode property classes) is rejected with an error that names it. */
#include <string.h>

#include "core/grammar/schema.h"

#include "core/base/utf8.h"

#define GROUP_DEPTH 64

struct regex {
	struct lmi_schema *s;
	const struct lmi_jnode *at;
	const char *p;
	size_t n, i;
	uint32_t depth;
};

static void fail(struct regex *r, enum lmd_status st, const char *what)
{
	lmi_schema_fail(r->s, st, r->at, "pattern, byte %zu: %s", r->i, what);
}

static bool failed(const struct regex *r)
{
	return lmi_schema_failed(r->s);
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

/* Classes */

static void add_all(struct lmi_schema *s, struct lmi_gx *cls, const struct lmi_gx *from)
{
	for (uint32_t i = 0; from && i < from->n; i++)
		lmi_gx_add_range(&s->b, cls, from->u.ranges[i].lo, from->u.ranges[i].hi);
}

static const struct lmi_grange digit_set[] = {{'0', '9'}};
static const struct lmi_grange word_set[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct lmi_grange space_set[] = {
	{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
	{0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
};
static const struct lmi_grange line_set[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

static struct lmi_gx *set_of(struct regex *r, const struct lmi_grange *v, size_t n, bool negate)
{
	struct lmi_gx *cls = lmi_gx_new(&r->s->b, LMI_GX_CLASS);

	for (size_t i = 0; i < n; i++)
		lmi_gx_add_range(&r->s->b, cls, v[i].lo, v[i].hi);
	if (!failed(r))
		lmi_gx_class_done(&r->s->b, cls, negate);
	return cls;
}

/* \d \w \s and their complements; NULL for any other letter. */
static struct lmi_gx *named_set(struct regex *r, char c)
{
	switch (c) {
	case 'd':
	case 'D':
		return set_of(r, digit_set, LMD_LEN(digit_set), c == 'D');
	case 'w':
	case 'W':
		return set_of(r, word_set, LMD_LEN(word_set), c == 'W');
	case 's':
	case 'S':
		return set_of(r, space_set, LMD_LEN(space_set), c == 'S');
	default:
		return NULL;
	}
}

/* Characters */

static uint32_t hex(struct regex *r, int min, int max)
{
	uint32_t v = 0;
	int n = 0;

	for (; n < max; n++, r->i++) {
		char c = peek(r, 0), l = (char)(c | 32);

		if (c >= '0' && c <= '9')
			v = v * 16 + (uint32_t)(c - '0');
		else if (l >= 'a' && l <= 'f')
			v = v * 16 + (uint32_t)(l - 'a' + 10);
		else
			break;
	}
	if (n < min || v > 0x10ffff)
		fail(r, LMD_INVALID, "expected a hexadecimal character code");
	return v;
}

/* After \u: four digits, a surrogate pair, or {digits}. */
static uint32_t unicode(struct regex *r)
{
	uint32_t c, low;
	size_t back;

	if (skip(r, "{")) {
		c = hex(r, 1, 8);
		if (!failed(r) && !skip(r, "}"))
			fail(r, LMD_INVALID, "expected '}'");
		return c;
	}
	c = hex(r, 4, 4);
	back = r->i;
	if (c >= 0xd800 && c < 0xdc00 && skip(r, "\\u")) {
		low = hex(r, 4, 4);
		if (low >= 0xdc00 && low < 0xe000)
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		r->i = back;
	}
	return c;
}

/* After a backslash: one character. */
static uint32_t escaped(struct regex *r, bool in_class)
{
	static const char from[] = "tnrvf0", to[] = "\t\n\r\v\f";
	char c = peek(r, 0);
	const char *k = c ? strchr(from, c) : NULL;

	if (r->i == r->n) {
		fail(r, LMD_INVALID, "a backslash at the end");
		return 0;
	}
	if (k && !(c == '0' && peek(r, 1) >= '0' && peek(r, 1) <= '9')) {
		r->i++;
		return (unsigned char)to[k - from];
	}
	if (c == 'b' && in_class) {
		r->i++;
		return '\b';
	}
	if (c == 'x' || c == 'u') {
		r->i++;
		return c == 'x' ? hex(r, 2, 2) : unicode(r);
	}
	if (c == 'c' && (peek(r, 1) | 32) >= 'a' && (peek(r, 1) | 32) <= 'z') {
		r->i += 2;
		return (uint32_t)(r->p[r->i - 1] & 31);
	}
	if ((c >= '0' && c <= '9') || c == 'k')
		fail(r, LMD_UNSUPPORTED, "back references are not supported");
	else if (c == 'b' || c == 'B')
		fail(r, LMD_UNSUPPORTED, "word boundaries are not supported");
	else if (c == 'p' || c == 'P')
		fail(r, LMD_UNSUPPORTED, "Unicode property classes are not supported");
	else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		fail(r, LMD_INVALID, "unknown escape sequence");
	return failed(r) ? 0 : lmi_utf8_next(r->p, r->n, &r->i);
}

/* Reads one character of a class, or a set (*set). */
static uint32_t class_atom(struct regex *r, struct lmi_gx **set)
{
	*set = NULL;
	if (!skip(r, "\\"))
		return lmi_utf8_next(r->p, r->n, &r->i);
	*set = named_set(r, peek(r, 0));
	if (*set) {
		r->i++;
		return 0;
	}
	return escaped(r, true);
}

static struct lmi_gx *parse_class(struct regex *r)
{
	struct lmi_gx *cls = lmi_gx_new(&r->s->b, LMI_GX_CLASS), *set;
	bool negate = skip(r, "^");

	while (!failed(r) && !skip(r, "]")) {
		uint32_t lo, hi;

		if (r->i == r->n) {
			fail(r, LMD_INVALID, "expected ']'");
			break;
		}
		lo = hi = class_atom(r, &set);
		if (set) {
			add_all(r->s, cls, set);
			continue;
		}
		if (peek(r, 0) == '-' && peek(r, 1) && peek(r, 1) != ']') {
			r->i++;
			hi = class_atom(r, &set);
			if (set || hi < lo)
				fail(r, LMD_INVALID, "the ends of a range are in the wrong order");
		}
		lmi_gx_add_range(&r->s->b, cls, lo, hi);
	}
	if (failed(r))
		return NULL;
	lmi_gx_class_done(&r->s->b, cls, negate);
	return lmi_schema_char_of(r->s, cls);
}

/* Structure */

static struct lmi_gx *parse_alternatives(struct regex *r, bool top);

static struct lmi_gx *parse_group(struct regex *r)
{
	struct lmi_gx *e;

	if (r->depth == GROUP_DEPTH) {
		fail(r, LMD_INVALID, "groups are nested more than 64 deep");
		return NULL;
	}
	if (peek(r, 0) == '?' && !skip(r, "?:")) {
		if (peek(r, 1) != '<' || peek(r, 2) == '=' || peek(r, 2) == '!') {
			fail(r, LMD_UNSUPPORTED, "look-ahead and look-behind are not supported");
			return NULL;
		}
		while (r->i < r->n && r->p[r->i] != '>') /* skip the name of the group */
			r->i++;
		(void)skip(r, ">");
	}
	r->depth++;
	e = parse_alternatives(r, false);
	r->depth--;
	if (!failed(r) && !skip(r, ")"))
		fail(r, LMD_INVALID, "expected ')'");
	return e;
}

static struct lmi_gx *parse_atom(struct regex *r)
{
	struct lmi_gx *set;
	uint32_t c;

	if (skip(r, "("))
		return parse_group(r);
	if (skip(r, "["))
		return parse_class(r);
	if (skip(r, "."))
		return lmi_schema_char_of(r->s, set_of(r, line_set, LMD_LEN(line_set), true));
	if (skip(r, "\\")) {
		set = named_set(r, peek(r, 0));
		if (set) {
			r->i++;
			return failed(r) ? NULL : lmi_schema_char_of(r->s, set);
		}
		c = escaped(r, false);
	} else {
		c = lmi_utf8_next(r->p, r->n, &r->i);
	}
	if (failed(r))
		return NULL;
	return lmi_schema_char_of(r->s, set_of(r, &(struct lmi_grange){c, c}, 1, false));
}

static uint32_t count(struct regex *r)
{
	uint32_t n = 0;

	for (; peek(r, 0) >= '0' && peek(r, 0) <= '9'; r->i++)
		n = n > LMI_GRAMMAR_COUNT_MAX ? n : n * 10 + (uint32_t)(peek(r, 0) - '0');
	return n;
}

static bool digit_next(const struct regex *r, size_t ahead)
{
	return peek(r, ahead) >= '0' && peek(r, ahead) <= '9';
}

static struct lmi_gx *quantified(struct regex *r, struct lmi_gx *e)
{
	uint32_t min = 0, max = UINT32_MAX;

	if (skip(r, "?")) {
		max = 1;
	} else if (skip(r, "+")) {
		min = 1;
	} else if (peek(r, 0) == '{' && digit_next(r, 1)) {
		r->i++;
		min = max = count(r);
		if (skip(r, ","))
			max = digit_next(r, 0) ? count(r) : UINT32_MAX;
		if (!skip(r, "}"))
			fail(r, LMD_INVALID, "expected '}'");
		else if (min > LMI_GRAMMAR_COUNT_MAX)
			fail(r, LMD_INVALID, "the minimum repetition count is above 2000");
		else if (max < min)
			fail(r, LMD_INVALID, "the maximum repetition count is below the minimum");
		if (max > LMI_GRAMMAR_COUNT_MAX)
			max = UINT32_MAX;
	} else if (!skip(r, "*")) {
		return e;
	}
	(void)skip(r, "?"); /* a lazy quantifier matches the same texts */
	if (peek(r, 0) == '*' || peek(r, 0) == '+' || peek(r, 0) == '?')
		fail(r, LMD_INVALID, "nothing to repeat");
	return failed(r) ? NULL : lmi_gx_repeat(&r->s->b, e, min, max);
}

static struct lmi_gx *any_text(struct lmi_schema *s)
{
	return lmi_gx_repeat(&s->b, lmi_schema_common(s, LMI_C_CHAR), 0, UINT32_MAX);
}

/* Parses one alternative. At the top level, ^ and $ anchor the pattern to the start and end of the
 * string. */
static struct lmi_gx *parse_sequence(struct regex *r, bool top)
{
	struct lmi_gx *seq = lmi_gx_new(&r->s->b, LMI_GX_SEQ);
	bool end = false;

	if (top && !skip(r, "^"))
		lmi_gx_add(&r->s->b, seq, any_text(r->s));
	while (!failed(r) && r->i < r->n) {
		char c = r->p[r->i];

		if (c == '|' || (c == ')' && !top))
			break;
		if (c == '$' && top && (r->i + 1 == r->n || r->p[r->i + 1] == '|')) {
			r->i++;
			end = true;
			break;
		}
		if (c == '^' || c == '$')
			fail(r, LMD_UNSUPPORTED, "^ and $ are supported only at the ends");
		else if (strchr("*+?)", c) && c)
			fail(r, LMD_INVALID, c == ')' ? "')' without '('" : "nothing to repeat");
		else
			lmi_gx_add(&r->s->b, seq, quantified(r, parse_atom(r)));
	}
	if (top && !end)
		lmi_gx_add(&r->s->b, seq, any_text(r->s));
	return seq;
}

static struct lmi_gx *parse_alternatives(struct regex *r, bool top)
{
	struct lmi_gx *alt = lmi_gx_new(&r->s->b, LMI_GX_ALT);

	do
		lmi_gx_add(&r->s->b, alt, lmi_gx_unwrap(parse_sequence(r, top)));
	while (!failed(r) && skip(r, "|"));
	return lmi_gx_unwrap(alt);
}

struct lmi_gx *lmi_schema_pattern(struct lmi_schema *s, const char *regex, size_t n,
				  const struct lmi_jnode *at)
{
	struct regex r = {.s = s, .at = at, .p = regex, .n = n};

	return parse_alternatives(&r, true);
}
