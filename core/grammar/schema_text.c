/* SPDX-License-Identifier: MIT
 *
 * Rules that every schema may need, and strings as JSON writes them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/grammar/schema.h"

#include "core/base/utf8.h"

/* Maximum number of digits before the decimal point, after it, and in an exponent. */
#define INT_DIGITS  18
#define FRAC_DIGITS 20
#define EXP_DIGITS  3

struct lmi_grammar_expr *lmi_gr_schema_ascii(struct lmi_gr_schema_compiler *s, const char *ascii)
{
	return lmi_grammar_expr_text(&s->b, ascii, strlen(ascii));
}

struct lmi_grammar_expr *lmi_gr_schema_never(struct lmi_gr_schema_compiler *s)
{
	return lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);
}

struct lmi_grammar_expr *lmi_gr_schema_seq(struct lmi_gr_schema_compiler *s, ...)
{
	struct lmi_grammar_expr *seq = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_SEQ), *e;
	va_list ap;

	va_start(ap, s);
	while ((e = va_arg(ap, struct lmi_grammar_expr *)))
		lmi_grammar_expr_append(&s->b, seq, e);
	va_end(ap);
	return seq;
}

static struct lmi_grammar_expr *choice(struct lmi_gr_schema_compiler *s, struct lmi_grammar_expr *x,
				       struct lmi_grammar_expr *y)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);

	lmi_grammar_expr_append(&s->b, alt, x);
	lmi_grammar_expr_append(&s->b, alt, y);
	return alt;
}

static struct lmi_grammar_expr *digits(struct lmi_gr_schema_compiler *s, uint32_t min, uint32_t max)
{
	return lmi_grammar_expr_repeat(&s->b, lmi_grammar_expr_range(&s->b, '0', '9'), min, max);
}

/* Pairs of the letter of a short escape and the character that it stands for. */
static const char escapes[] = "\"\"\\\\n\nt\tr\rb\bf\f";

static struct lmi_grammar_expr *hex(struct lmi_gr_schema_compiler *s)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);

	lmi_grammar_expr_add_range(&s->b, e, '0', '9');
	lmi_grammar_expr_add_range(&s->b, e, 'a', 'f');
	lmi_grammar_expr_add_range(&s->b, e, 'A', 'F');
	if (!lmi_gr_schema_failed(s))
		lmi_grammar_expr_class_finish(&s->b, e, false);
	return e;
}

/* Characters that may stand unescaped in a string. */
static struct lmi_grammar_expr *raw_char(struct lmi_gr_schema_compiler *s)
{
	struct lmi_grammar_expr *e = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);

	lmi_grammar_expr_add_range(&s->b, e, 0x20, '"' - 1);
	lmi_grammar_expr_add_range(&s->b, e, '"' + 1, '\\' - 1);
	lmi_grammar_expr_add_range(&s->b, e, '\\' + 1, 0x10ffff);
	if (!lmi_gr_schema_failed(s))
		lmi_grammar_expr_class_finish(&s->b, e, false);
	return e;
}

static struct lmi_grammar_expr *any_char(struct lmi_gr_schema_compiler *s)
{
	struct lmi_grammar_expr *letter = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS), *unicode;

	for (const char *p = "\"\\/bfnrt"; *p; p++)
		lmi_grammar_expr_add_range(&s->b, letter, (unsigned char)*p, (unsigned char)*p);
	if (!lmi_gr_schema_failed(s))
		lmi_grammar_expr_class_finish(&s->b, letter, false);
	unicode = lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "u"),
				    lmi_grammar_expr_repeat(&s->b, hex(s), 4, 4), NULL);
	return choice(s, raw_char(s),
		      lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "\\"), choice(s, letter, unicode),
					NULL));
}

static struct lmi_grammar_expr *number(struct lmi_gr_schema_compiler *s, bool integer)
{
	struct lmi_grammar_expr *whole =
		choice(s, lmi_gr_schema_ascii(s, "0"),
		       lmi_gr_schema_seq(s, lmi_grammar_expr_range(&s->b, '1', '9'),
					 digits(s, 0, INT_DIGITS - 1), NULL));
	struct lmi_grammar_expr *minus =
		lmi_grammar_expr_optional(&s->b, lmi_gr_schema_ascii(s, "-"));
	struct lmi_grammar_expr *frac, *exponent, *e_letter, *sign;

	if (integer)
		return lmi_gr_schema_seq(s, minus, whole, NULL);
	frac = lmi_gr_schema_seq(s, lmi_gr_schema_ascii(s, "."), digits(s, 1, FRAC_DIGITS), NULL);
	e_letter = choice(s, lmi_gr_schema_ascii(s, "e"), lmi_gr_schema_ascii(s, "E"));
	sign = lmi_grammar_expr_optional(
		&s->b, choice(s, lmi_gr_schema_ascii(s, "+"), lmi_gr_schema_ascii(s, "-")));
	exponent = lmi_gr_schema_seq(s, e_letter, sign, digits(s, 1, EXP_DIGITS), NULL);
	return lmi_gr_schema_seq(s, minus, whole, lmi_grammar_expr_optional(&s->b, frac),
				 lmi_grammar_expr_optional(&s->b, exponent), NULL);
}

/* White space: nothing, one blank, or one or two line ends followed by blanks. This covers all
 * common styles and is bounded. */
static struct lmi_grammar_expr *space(struct lmi_gr_schema_compiler *s)
{
	struct lmi_grammar_expr *blank =
		choice(s, lmi_gr_schema_ascii(s, " "), lmi_gr_schema_ascii(s, "\t"));
	struct lmi_grammar_expr *lines =
		lmi_grammar_expr_repeat(&s->b, lmi_gr_schema_ascii(s, "\n"), 1, 2);

	return lmi_grammar_expr_optional(
		&s->b,
		choice(s, lmi_gr_schema_ascii(s, " "),
		       lmi_gr_schema_seq(s, lines, lmi_grammar_expr_repeat(&s->b, blank, 0, 20),
					 NULL)));
}

/* open (item (, item)*)? close */
static struct lmi_grammar_expr *any_list(struct lmi_gr_schema_compiler *s, const char *open,
					 enum lmi_gr_schema_common_rule item, const char *close)
{
	struct lmi_grammar_expr *more = lmi_gr_schema_seq(
		s, lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), lmi_gr_schema_ascii(s, ","),
		lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), lmi_gr_schema_common(s, item), NULL);
	struct lmi_grammar_expr *all =
		lmi_gr_schema_seq(s, lmi_gr_schema_common(s, item),
				  lmi_grammar_expr_repeat(&s->b, more, 0, UINT32_MAX),
				  lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE), NULL);

	return lmi_gr_schema_seq(
		s, lmi_gr_schema_ascii(s, open), lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
		lmi_grammar_expr_optional(&s->b, all), lmi_gr_schema_ascii(s, close), NULL);
}

static struct lmi_grammar_expr *any_value(struct lmi_gr_schema_compiler *s)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);

	lmi_grammar_expr_append(&s->b, alt, any_list(s, "{", LMI_GR_COMMON_MEMBER, "}"));
	lmi_grammar_expr_append(&s->b, alt, any_list(s, "[", LMI_GR_COMMON_VALUE, "]"));
	lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_common(s, LMI_GR_COMMON_STRING));
	lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_common(s, LMI_GR_COMMON_NUMBER));
	lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "true"));
	lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "false"));
	lmi_grammar_expr_append(&s->b, alt, lmi_gr_schema_ascii(s, "null"));
	return alt;
}

static struct lmi_grammar_expr *make(struct lmi_gr_schema_compiler *s,
				     enum lmi_gr_schema_common_rule which)
{
	switch (which) {
	case LMI_GR_COMMON_SPACE:
		return space(s);
	case LMI_GR_COMMON_CHAR:
		return any_char(s);
	case LMI_GR_COMMON_STRING:
		return lmi_gr_schema_seq(
			s, lmi_gr_schema_ascii(s, "\""),
			lmi_grammar_expr_repeat(&s->b, lmi_gr_schema_common(s, LMI_GR_COMMON_CHAR),
						0, UINT32_MAX),
			lmi_gr_schema_ascii(s, "\""), NULL);
	case LMI_GR_COMMON_MEMBER:
		return lmi_gr_schema_seq(s, lmi_gr_schema_common(s, LMI_GR_COMMON_STRING),
					 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
					 lmi_gr_schema_ascii(s, ":"),
					 lmi_gr_schema_common(s, LMI_GR_COMMON_SPACE),
					 lmi_gr_schema_common(s, LMI_GR_COMMON_VALUE), NULL);
	case LMI_GR_COMMON_NUMBER:
		return number(s, false);
	case LMI_GR_COMMON_INTEGER:
		return number(s, true);
	default:
		return any_value(s);
	}
}

struct lmi_grammar_expr *lmi_gr_schema_common(struct lmi_gr_schema_compiler *s,
					      enum lmi_gr_schema_common_rule which)
{
	static const char *const name[LMI_GR_COMMON_N] = {"space",  "char",   "string", "value",
							  "member", "number", "integer"};

	if (s->common[which] == UINT32_MAX && !lmi_gr_schema_failed(s)) {
		uint32_t rule = lmi_grammar_builder_add_rule(&s->b, name[which]);
		struct lmi_grammar_expr *e;

		s->common[which] = rule;
		e = make(s, which);
		if (!lmi_gr_schema_failed(s))
			s->b.rule[rule] = e;
	}
	return lmi_grammar_expr_rule(&s->b, s->common[which]);
}

/* The short escape of a character if it has one, otherwise \u00xx for other control characters. */
static struct lmi_grammar_expr *escape_of(struct lmi_gr_schema_compiler *s, uint32_t c)
{
	char text[8];

	for (const char *p = escapes; *p; p += 2)
		if ((unsigned char)p[1] == c) {
			text[0] = '\\';
			text[1] = p[0];
			return lmi_grammar_expr_text(&s->b, text, 2);
		}
	(void)snprintf(text, sizeof(text), "\\u%04x", c);
	return lmi_grammar_expr_text(&s->b, text, strlen(text));
}

static bool must_escape(uint32_t c)
{
	return c < 0x20 || c == '"' || c == '\\';
}

struct lmi_grammar_expr *lmi_gr_schema_char_of(struct lmi_gr_schema_compiler *s,
					       const struct lmi_grammar_expr *cls)
{
	struct lmi_grammar_expr *alt = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_ALT);
	struct lmi_grammar_expr *raw = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_CLASS);

	for (uint32_t i = 0; !lmi_gr_schema_failed(s) && i < cls->n; i++) {
		uint32_t lo = cls->u.ranges[i].lo, hi = cls->u.ranges[i].hi;

		hi = hi > 0x10ffff ? 0x10ffff : hi;
		for (; lo <= hi && lo <= '\\'; lo++) {
			if (must_escape(lo))
				lmi_grammar_expr_append(&s->b, alt, escape_of(s, lo));
			else
				lmi_grammar_expr_add_range(&s->b, raw, lo, lo);
		}
		if (lo <= hi)
			lmi_grammar_expr_add_range(&s->b, raw, lo, hi);
	}
	if (lmi_gr_schema_failed(s))
		return NULL;
	lmi_grammar_expr_class_finish(&s->b, raw, false);
	lmi_grammar_expr_append(&s->b, alt, raw);
	return lmi_grammar_expr_unwrap(alt);
}

struct lmi_grammar_expr *lmi_gr_schema_chars(struct lmi_gr_schema_compiler *s, const char *utf8,
					     size_t n)
{
	struct lmi_grammar_expr *seq = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_SEQ);

	for (size_t at = 0; at < n && !lmi_gr_schema_failed(s);) {
		uint32_t c = lmi_utf8_next(utf8, n, &at);
		struct lmi_grammar_expr *e;

		if (must_escape(c)) {
			e = escape_of(s, c);
		} else {
			e = lmi_grammar_expr_new(&s->b, LMI_GR_EXPR_TEXT);
			lmi_grammar_expr_add_char(&s->b, e, c);
		}
		lmi_grammar_expr_append(&s->b, seq, e);
	}
	return seq;
}
