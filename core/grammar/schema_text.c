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

struct lmi_gx *lmi_schema_word(struct lmi_schema *s, const char *ascii)
{
	return lmi_gx_text(&s->b, ascii, strlen(ascii));
}

struct lmi_gx *lmi_schema_never(struct lmi_schema *s)
{
	return lmi_gx_new(&s->b, LMI_GX_CLASS);
}

struct lmi_gx *lmi_schema_seq(struct lmi_schema *s, ...)
{
	struct lmi_gx *seq = lmi_gx_new(&s->b, LMI_GX_SEQ), *e;
	va_list ap;

	va_start(ap, s);
	while ((e = va_arg(ap, struct lmi_gx *)))
		lmi_gx_add(&s->b, seq, e);
	va_end(ap);
	return seq;
}

static struct lmi_gx *choice(struct lmi_schema *s, struct lmi_gx *x, struct lmi_gx *y)
{
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT);

	lmi_gx_add(&s->b, alt, x);
	lmi_gx_add(&s->b, alt, y);
	return alt;
}

static struct lmi_gx *digits(struct lmi_schema *s, uint32_t min, uint32_t max)
{
	return lmi_gx_repeat(&s->b, lmi_gx_range(&s->b, '0', '9'), min, max);
}

/* Pairs of the letter of a short escape and the character that it stands for. */
static const char escapes[] = "\"\"\\\\n\nt\tr\rb\bf\f";

static struct lmi_gx *hex(struct lmi_schema *s)
{
	struct lmi_gx *e = lmi_gx_new(&s->b, LMI_GX_CLASS);

	lmi_gx_add_range(&s->b, e, '0', '9');
	lmi_gx_add_range(&s->b, e, 'a', 'f');
	lmi_gx_add_range(&s->b, e, 'A', 'F');
	if (!lmi_schema_failed(s))
		lmi_gx_class_done(&s->b, e, false);
	return e;
}

/* Characters that may stand unescaped in a string. */
static struct lmi_gx *raw_char(struct lmi_schema *s)
{
	struct lmi_gx *e = lmi_gx_new(&s->b, LMI_GX_CLASS);

	lmi_gx_add_range(&s->b, e, 0x20, '"' - 1);
	lmi_gx_add_range(&s->b, e, '"' + 1, '\\' - 1);
	lmi_gx_add_range(&s->b, e, '\\' + 1, 0x10ffff);
	if (!lmi_schema_failed(s))
		lmi_gx_class_done(&s->b, e, false);
	return e;
}

static struct lmi_gx *any_char(struct lmi_schema *s)
{
	struct lmi_gx *letter = lmi_gx_new(&s->b, LMI_GX_CLASS), *unicode;

	for (const char *p = "\"\\/bfnrt"; *p; p++)
		lmi_gx_add_range(&s->b, letter, (unsigned char)*p, (unsigned char)*p);
	if (!lmi_schema_failed(s))
		lmi_gx_class_done(&s->b, letter, false);
	unicode = lmi_schema_seq(s, lmi_schema_word(s, "u"), lmi_gx_repeat(&s->b, hex(s), 4, 4),
				 NULL);
	return choice(
		s, raw_char(s),
		lmi_schema_seq(s, lmi_schema_word(s, "\\"), choice(s, letter, unicode), NULL));
}

static struct lmi_gx *number(struct lmi_schema *s, bool integer)
{
	struct lmi_gx *whole = choice(s, lmi_schema_word(s, "0"),
				      lmi_schema_seq(s, lmi_gx_range(&s->b, '1', '9'),
						     digits(s, 0, INT_DIGITS - 1), NULL));
	struct lmi_gx *minus = lmi_gx_optional(&s->b, lmi_schema_word(s, "-"));
	struct lmi_gx *frac, *exponent, *e_letter, *sign;

	if (integer)
		return lmi_schema_seq(s, minus, whole, NULL);
	frac = lmi_schema_seq(s, lmi_schema_word(s, "."), digits(s, 1, FRAC_DIGITS), NULL);
	e_letter = choice(s, lmi_schema_word(s, "e"), lmi_schema_word(s, "E"));
	sign = lmi_gx_optional(&s->b, choice(s, lmi_schema_word(s, "+"), lmi_schema_word(s, "-")));
	exponent = lmi_schema_seq(s, e_letter, sign, digits(s, 1, EXP_DIGITS), NULL);
	return lmi_schema_seq(s, minus, whole, lmi_gx_optional(&s->b, frac),
			      lmi_gx_optional(&s->b, exponent), NULL);
}

/* White space: nothing, one blank, or one or two line ends followed by blanks. This covers all
 * common styles and is bounded. */
static struct lmi_gx *space(struct lmi_schema *s)
{
	struct lmi_gx *blank = choice(s, lmi_schema_word(s, " "), lmi_schema_word(s, "\t"));
	struct lmi_gx *lines = lmi_gx_repeat(&s->b, lmi_schema_word(s, "\n"), 1, 2);

	return lmi_gx_optional(
		&s->b, choice(s, lmi_schema_word(s, " "),
			      lmi_schema_seq(s, lines, lmi_gx_repeat(&s->b, blank, 0, 20), NULL)));
}

/* open (item (, item)*)? close */
static struct lmi_gx *any_list(struct lmi_schema *s, const char *open, enum lmi_common item,
			       const char *close)
{
	struct lmi_gx *more =
		lmi_schema_seq(s, lmi_schema_common(s, LMI_C_SPACE), lmi_schema_word(s, ","),
			       lmi_schema_common(s, LMI_C_SPACE), lmi_schema_common(s, item), NULL);
	struct lmi_gx *all = lmi_schema_seq(s, lmi_schema_common(s, item),
					    lmi_gx_repeat(&s->b, more, 0, UINT32_MAX),
					    lmi_schema_common(s, LMI_C_SPACE), NULL);

	return lmi_schema_seq(s, lmi_schema_word(s, open), lmi_schema_common(s, LMI_C_SPACE),
			      lmi_gx_optional(&s->b, all), lmi_schema_word(s, close), NULL);
}

static struct lmi_gx *any_value(struct lmi_schema *s)
{
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT);

	lmi_gx_add(&s->b, alt, any_list(s, "{", LMI_C_MEMBER, "}"));
	lmi_gx_add(&s->b, alt, any_list(s, "[", LMI_C_VALUE, "]"));
	lmi_gx_add(&s->b, alt, lmi_schema_common(s, LMI_C_STRING));
	lmi_gx_add(&s->b, alt, lmi_schema_common(s, LMI_C_NUMBER));
	lmi_gx_add(&s->b, alt, lmi_schema_word(s, "true"));
	lmi_gx_add(&s->b, alt, lmi_schema_word(s, "false"));
	lmi_gx_add(&s->b, alt, lmi_schema_word(s, "null"));
	return alt;
}

static struct lmi_gx *make(struct lmi_schema *s, enum lmi_common which)
{
	switch (which) {
	case LMI_C_SPACE:
		return space(s);
	case LMI_C_CHAR:
		return any_char(s);
	case LMI_C_STRING:
		return lmi_schema_seq(
			s, lmi_schema_word(s, "\""),
			lmi_gx_repeat(&s->b, lmi_schema_common(s, LMI_C_CHAR), 0, UINT32_MAX),
			lmi_schema_word(s, "\""), NULL);
	case LMI_C_MEMBER:
		return lmi_schema_seq(s, lmi_schema_common(s, LMI_C_STRING),
				      lmi_schema_common(s, LMI_C_SPACE), lmi_schema_word(s, ":"),
				      lmi_schema_common(s, LMI_C_SPACE),
				      lmi_schema_common(s, LMI_C_VALUE), NULL);
	case LMI_C_NUMBER:
		return number(s, false);
	case LMI_C_INTEGER:
		return number(s, true);
	default:
		return any_value(s);
	}
}

struct lmi_gx *lmi_schema_common(struct lmi_schema *s, enum lmi_common which)
{
	static const char *const name[LMI_C_N] = {"space",  "char",   "string", "value",
						  "member", "number", "integer"};

	if (s->common[which] == UINT32_MAX && !lmi_schema_failed(s)) {
		uint32_t rule = lmi_gbuild_rule(&s->b, name[which]);
		struct lmi_gx *e;

		s->common[which] = rule;
		e = make(s, which);
		if (!lmi_schema_failed(s))
			s->b.rule[rule] = e;
	}
	return lmi_gx_rule(&s->b, s->common[which]);
}

/* The short escape of a character if it has one, otherwise \u00xx for other control characters. */
static struct lmi_gx *escape_of(struct lmi_schema *s, uint32_t c)
{
	char text[8];

	for (const char *p = escapes; *p; p += 2)
		if ((unsigned char)p[1] == c) {
			text[0] = '\\';
			text[1] = p[0];
			return lmi_gx_text(&s->b, text, 2);
		}
	(void)snprintf(text, sizeof(text), "\\u%04x", c);
	return lmi_gx_text(&s->b, text, strlen(text));
}

static bool must_escape(uint32_t c)
{
	return c < 0x20 || c == '"' || c == '\\';
}

struct lmi_gx *lmi_schema_char_of(struct lmi_schema *s, const struct lmi_gx *cls)
{
	struct lmi_gx *alt = lmi_gx_new(&s->b, LMI_GX_ALT);
	struct lmi_gx *raw = lmi_gx_new(&s->b, LMI_GX_CLASS);

	for (uint32_t i = 0; !lmi_schema_failed(s) && i < cls->n; i++) {
		uint32_t lo = cls->u.ranges[i].lo, hi = cls->u.ranges[i].hi;

		hi = hi > 0x10ffff ? 0x10ffff : hi;
		for (; lo <= hi && lo <= '\\'; lo++) {
			if (must_escape(lo))
				lmi_gx_add(&s->b, alt, escape_of(s, lo));
			else
				lmi_gx_add_range(&s->b, raw, lo, lo);
		}
		if (lo <= hi)
			lmi_gx_add_range(&s->b, raw, lo, hi);
	}
	if (lmi_schema_failed(s))
		return NULL;
	lmi_gx_class_done(&s->b, raw, false);
	lmi_gx_add(&s->b, alt, raw);
	return lmi_gx_unwrap(alt);
}

struct lmi_gx *lmi_schema_chars(struct lmi_schema *s, const char *utf8, size_t n)
{
	struct lmi_gx *seq = lmi_gx_new(&s->b, LMI_GX_SEQ);

	for (size_t at = 0; at < n && !lmi_schema_failed(s);) {
		uint32_t c = lmi_utf8_next(utf8, n, &at);
		struct lmi_gx *e;

		if (must_escape(c)) {
			e = escape_of(s, c);
		} else {
			e = lmi_gx_new(&s->b, LMI_GX_TEXT);
			lmi_gx_add_char(&s->b, e, c);
		}
		lmi_gx_add(&s->b, seq, e);
	}
	return seq;
}
