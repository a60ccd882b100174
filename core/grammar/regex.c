/* SPDX-License-Identifier: MIT
 *
 * Compiles regular expressions by recursive descent: an expression is alternatives, which are
 * sequences of atoms with quantifiers.
 *
 * Each sequence knows whether the text begins where it begins, and ends where it ends. There it may
 * have an anchor; without one, any text is added if the expression is searched for. A group hands
 * this on if it is the first or the last part of its sequence and has no quantifier. */
#include "core/grammar/regex.h"

#include <string.h>

#include "core/base/utf8.h"
#include "llamad/attr.h"

struct regex {
	const struct lmi_gr_regex_use *use;
	struct lmi_grammar_builder *b;
	const char *p;
	size_t n, i;
	uint32_t depth;
};

static void fail(struct regex *r, enum lmd_status st, const char *what)
{
	r->use->fail(r->use->ctx, st, r->i, what);
}

static bool failed(const struct regex *r)
{
	return r->b->st != LMD_OK;
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

static struct lmi_grammar_expr *char_of(struct regex *r, struct lmi_grammar_expr *cls)
{
	if (failed(r))
		return NULL;
	return r->use->char_of ? r->use->char_of(r->use->ctx, cls) : cls;
}

static void add_all(struct regex *r, struct lmi_grammar_expr *cls,
		    const struct lmi_grammar_expr *from)
{
	for (uint32_t i = 0; from && i < from->n; i++)
		lmi_grammar_expr_add_range(r->b, cls, from->u.ranges[i].lo, from->u.ranges[i].hi);
}

static const struct lmi_gr_char_range digit_set[] = {{'0', '9'}};
static const struct lmi_gr_char_range word_set[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct lmi_gr_char_range space_set[] = {
	{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
	{0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
};
static const struct lmi_gr_char_range line_set[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

static struct lmi_grammar_expr *set_of(struct regex *r, const struct lmi_gr_char_range *v, size_t n,
				       bool negate)
{
	struct lmi_grammar_expr *cls = lmi_grammar_expr_new(r->b, LMI_GR_EXPR_CLASS);

	for (size_t i = 0; i < n; i++)
		lmi_grammar_expr_add_range(r->b, cls, v[i].lo, v[i].hi);
	if (!failed(r))
		lmi_grammar_expr_class_finish(r->b, cls, negate);
	return cls;
}

/* \d \w \s and their complements; NULL for any other letter. */
static struct lmi_grammar_expr *named_set(struct regex *r, char c)
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

/* One character that stands for itself. */
static uint32_t plain(struct regex *r)
{
	uint32_t c = lmi_utf8_next(r->p, r->n, &r->i);

	if (c == LMI_UTF8_BAD)
		fail(r, LMD_INVALID, "invalid UTF-8");
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
	return failed(r) ? 0 : plain(r);
}

/* Reads one character of a class, or a set (*set). */
static uint32_t class_atom(struct regex *r, struct lmi_grammar_expr **set)
{
	*set = NULL;
	if (!skip(r, "\\"))
		return plain(r);
	*set = named_set(r, peek(r, 0));
	if (*set) {
		r->i++;
		return 0;
	}
	return escaped(r, true);
}

static struct lmi_grammar_expr *parse_class(struct regex *r)
{
	struct lmi_grammar_expr *cls = lmi_grammar_expr_new(r->b, LMI_GR_EXPR_CLASS), *set;
	bool negate = skip(r, "^");

	while (!failed(r) && !skip(r, "]")) {
		uint32_t lo, hi;

		if (r->i == r->n) {
			fail(r, LMD_INVALID, "expected ']'");
			break;
		}
		lo = hi = class_atom(r, &set);
		if (set) {
			add_all(r, cls, set);
			continue;
		}
		if (peek(r, 0) == '-' && peek(r, 1) && peek(r, 1) != ']') {
			r->i++;
			hi = class_atom(r, &set);
			if (set)
				fail(r, LMD_INVALID, "a range ends with a set");
			else if (hi < lo)
				fail(r, LMD_INVALID, "the ends of a range are in the wrong order");
		}
		lmi_grammar_expr_add_range(r->b, cls, lo, hi);
	}
	if (failed(r))
		return NULL;
	lmi_grammar_expr_class_finish(r->b, cls, negate);
	return char_of(r, cls);
}

/* Structure */

/* Where a part of the expression lies in the text that it matches. */
struct place {
	bool start, end; /* nothing of the match precedes it, nothing follows it */
};

static struct lmi_grammar_expr *parse_alternatives(struct regex *r, struct place at);

/* Returns the offset behind the ')' of the group whose '(' was skipped; the end of the expression if
 * there is none. */
static size_t group_end(const struct regex *r)
{
	uint32_t depth = 1;
	bool in_class = false;

	for (size_t i = r->i; i < r->n; i++) {
		char c = r->p[i];

		if (c == '\\')
			i++;
		else if (in_class)
			in_class = c != ']';
		else if (c == '[')
			in_class = true;
		else if (c == '(')
			depth++;
		else if (c == ')' && !--depth)
			return i + 1;
	}
	return r->n;
}

/* Skips what follows the parenthesis of a group: ?:, ?<name> or ?P<name>. */
static void skip_group_kind(struct regex *r)
{
	bool named;

	if (peek(r, 0) != '?' || skip(r, "?:"))
		return;
	named = skip(r, "?P<") || skip(r, "?<");
	if (named && peek(r, 0) != '=' && peek(r, 0) != '!') {
		while (r->i < r->n && r->p[r->i] != '>')
			r->i++;
		if (!skip(r, ">"))
			fail(r, LMD_INVALID, "expected '>'");
		return;
	}
	if (!named && !peek(r, 1)) {
		fail(r, LMD_INVALID, "'(?' at the end");
		return;
	}
	fail(r, LMD_UNSUPPORTED,
	     named || strchr("=!", peek(r, 1)) ? "look-ahead and look-behind are not supported"
					       : "flags are not supported");
}

static struct lmi_grammar_expr *parse_group(struct regex *r, struct place at)
{
	struct lmi_grammar_expr *e;

	if (r->depth == LMI_GR_REGEX_DEPTH)
		fail(r, LMD_INVALID, "groups are nested more than 64 deep");
	skip_group_kind(r);
	if (failed(r))
		return NULL;
	r->depth++;
	e = parse_alternatives(r, at);
	r->depth--;
	if (!failed(r) && !skip(r, ")"))
		fail(r, LMD_INVALID, "expected ')'");
	return e;
}

static struct lmi_grammar_expr *parse_atom(struct regex *r)
{
	struct lmi_grammar_expr *set;
	uint32_t c;

	if (skip(r, "["))
		return parse_class(r);
	if (skip(r, "."))
		return char_of(r, set_of(r, line_set, LMD_LEN(line_set), true));
	if (skip(r, "\\")) {
		set = named_set(r, peek(r, 0));
		if (set) {
			r->i++;
			return failed(r) ? NULL : char_of(r, set);
		}
		c = escaped(r, false);
	} else {
		c = plain(r);
	}
	if (failed(r))
		return NULL;
	return char_of(r, set_of(r, &(struct lmi_gr_char_range){c, c}, 1, false));
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

static struct lmi_grammar_expr *quantified(struct regex *r, struct lmi_grammar_expr *e)
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
	if (peek(r, 0) == '+')
		fail(r, LMD_UNSUPPORTED, "possessive quantifiers are not supported");
	else if (peek(r, 0) == '*' || peek(r, 0) == '?')
		fail(r, LMD_INVALID, "nothing to repeat");
	return failed(r) ? NULL : lmi_grammar_expr_repeat(r->b, e, min, max);
}

static void add_any_text(struct regex *r, struct lmi_grammar_expr *seq)
{
	if (r->use->any_text && !failed(r))
		lmi_grammar_expr_append(r->b, seq, r->use->any_text(r->use->ctx));
}

/* Whether a sequence ends at offset i. */
static bool is_end(const struct regex *r, size_t i)
{
	return i == r->n || r->p[i] == '|' || r->p[i] == ')';
}

/* Parses a group and its quantifier. *at: the place of the group if it has no quantifier; what of it
 * the group did not take over remains. */
static struct lmi_grammar_expr *parse_part(struct regex *r, struct place *at)
{
	struct place inner = {0};
	size_t end;

	if (!skip(r, "("))
		return quantified(r, parse_atom(r));
	end = group_end(r);
	if (end == r->n || !r->p[end] || !strchr("*+?{", r->p[end])) {
		inner = (struct place){.start = at->start, .end = at->end && is_end(r, end)};
		at->start = at->start && !inner.start;
		at->end = at->end && !inner.end;
	}
	return quantified(r, parse_group(r, inner));
}

static void parse_parts(struct regex *r, struct lmi_grammar_expr *seq, struct place *at)
{
	while (!failed(r) && !is_end(r, r->i)) {
		char c = r->p[r->i];
		struct place next = {.start = at->start && !seq->n, .end = at->end};

		if (c == '$' && at->end && is_end(r, r->i + 1)) {
			r->i++;
			at->end = false;
		} else if (c == '^' || c == '$') {
			fail(r, LMD_UNSUPPORTED, "^ and $ are supported only at the ends");
		} else if (strchr("*+?", c) && c) {
			fail(r, LMD_INVALID, "nothing to repeat");
		} else {
			struct lmi_grammar_expr *e = parse_part(r, &next);

			/* a group at the start matches the text before it as well */
			if (at->start && !seq->n && next.start)
				add_any_text(r, seq);
			at->start = false;
			at->end = next.end;
			lmi_grammar_expr_append(r->b, seq, e);
		}
	}
}

/* Parses one alternative. */
static struct lmi_grammar_expr *parse_sequence(struct regex *r, struct place at)
{
	struct lmi_grammar_expr *seq = lmi_grammar_expr_new(r->b, LMI_GR_EXPR_SEQ);

	if (at.start && skip(r, "^"))
		at.start = false;
	parse_parts(r, seq, &at);
	if (at.start && !at.end) /* nothing but $ */
		add_any_text(r, seq);
	if (at.end)
		add_any_text(r, seq);
	return seq;
}

static struct lmi_grammar_expr *parse_alternatives(struct regex *r, struct place at)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(r->b, LMI_GR_EXPR_ALT);

	do
		lmi_grammar_expr_append(r->b, alt, lmi_grammar_expr_unwrap(parse_sequence(r, at)));
	while (!failed(r) && skip(r, "|"));
	return lmi_grammar_expr_unwrap(alt);
}

struct lmi_grammar_expr *lmi_gr_regex(const struct lmi_gr_regex_use *use, const char *regex,
				      size_t bytes)
{
	struct regex r = {.use = use, .b = use->b, .p = regex, .n = bytes};
	struct lmi_grammar_expr *e = parse_alternatives(&r, (struct place){true, true});

	if (!failed(&r) && r.i < r.n)
		fail(&r, LMD_INVALID, "')' without '('");
	return e;
}

/* ---- texts that match as a whole ---- */

struct whole {
	struct lmi_grammar_builder *b;
	const char *name;
};

static void fail_whole(void *ctx, enum lmd_status st, size_t at_byte, const char *what)
{
	struct whole *w = ctx;

	lmi_grammar_builder_fail(w->b, st, "%s%sbyte %zu: %s", w->name, w->name[0] ? ": " : "",
				 at_byte, what);
}

struct lmi_grammar_expr *lmi_gr_regex_whole(struct lmi_grammar_builder *b, const char *name,
					    const char *regex, size_t bytes)
{
	struct whole w = {.b = b, .name = name};
	const struct lmi_gr_regex_use use = {.b = b, .ctx = &w, .fail = fail_whole};

	return lmi_gr_regex(&use, regex, bytes);
}

enum lmd_status lmi_grammar_from_regex(struct lmi_grammar **out, const char *regex, size_t bytes,
				       struct lmd_error *err)
{
	struct lmi_grammar_builder b;
	struct lmi_grammar_expr *e;
	uint32_t root;
	enum lmd_status st;

	if (bytes > LMI_GRAMMAR_BYTES_MAX)
		return lmd_fail(err, LMD_INVALID, "%zu bytes long, at most %u are allowed",
				bytes, LMI_GRAMMAR_BYTES_MAX);
	st = lmi_grammar_builder_init(&b, err);
	if (st != LMD_OK)
		return st;
	root = lmi_grammar_builder_add_rule(&b, "root");
	e = lmi_gr_regex_whole(&b, "", regex, bytes);
	if (b.st == LMD_OK)
		b.rule[root] = e;
	st = b.st == LMD_OK ? lmi_grammar_builder_compile(&b, root, out) : b.st;
	lmi_grammar_builder_fini(&b);
	return st;
}
