/* SPDX-License-Identifier: MIT
 *
 * Converts the inside of a string to that of a JSON string.  A Python string has escapes; a string
 * between markers has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/detok.h"
#include "core/text/answer/parser_impl.h"

static void put_unit(struct lmi_answer_parser *p, unsigned v)
{
	char out[8];

	lmi_parse_notation_append(p, out, (size_t)snprintf(out, sizeof(out), "\\u%04x", v));
}

/* Writes a code point as one \u escape or as a surrogate pair. */
static bool put_code(struct lmi_answer_parser *p, unsigned long v)
{
	if (v > 0x10ffff)
		return false;
	if (v > 0xffff) {
		put_unit(p, 0xd800 + (unsigned)((v - 0x10000) >> 10));
		v = 0xdc00 + ((v - 0x10000) & 0x3ff);
	}
	put_unit(p, (unsigned)v);
	return true;
}

/* Writes a literal byte, escaped as JSON requires. */
static void put_byte(struct lmi_answer_parser *p, char c)
{
	if (c == '"' || c == '\\')
		lmi_parse_notation_append(p, "\\", 1);
	if (c == '\n')
		lmi_parse_notation_append(p, "\\n", 2);
	else if ((unsigned char)c < 0x20)
		put_unit(p, (unsigned char)c);
	else
		lmi_parse_notation_append(p, &c, 1);
}

/* Parses n digits at offset i; returns false if they are not digits of this base. */
static bool digits(const struct lmi_answer_parser *p, size_t i, size_t n, int base,
		   unsigned long *out)
{
	char text[9] = {0}, *end;

	memcpy(text, p->buf + p->at + i, n);
	*out = strtoul(text, &end, base);
	return n && !*end && text[0] != '-' && text[0] != '+' && !lmi_parse_is_space(text[0]);
}

/* Converts the backslash at *i and what follows.  An unknown escape is kept literally. */
static enum lmi_text_match escape(struct lmi_answer_parser *p, size_t *i)
{
	static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
	size_t left = p->n - p->at - *i, n;
	const char *s = p->buf + p->at + *i, *hit;
	unsigned long v = 0;

	if (left < 2)
		return LMI_TEXT_MATCH_NEED_MORE;
	n = s[1] == 'x' ? 2 : s[1] == 'u' ? 4 : s[1] == 'U' ? 8 : 0;
	if (left < 2 + n && !p->input_ended)
		return LMI_TEXT_MATCH_NEED_MORE;
	if (n && left >= 2 + n && digits(p, *i + 2, n, 16, &v) && put_code(p, v)) {
		*i += 2 + n;
		return LMI_TEXT_MATCH_YES;
	}
	if (s[1] == '\n') { /* line continuation */
		*i += 2;
		return LMI_TEXT_MATCH_YES;
	}
	hit = s[1] ? strchr(from, s[1]) : NULL;
	if (hit) {
		put_byte(p, to[hit - from]);
		*i += 2;
		return LMI_TEXT_MATCH_YES;
	}
	put_byte(p, '\\');
	++*i;
	return LMI_TEXT_MATCH_YES;
}

/* Matches the closing quotes at *i. */
static enum lmi_text_match closing_quote(const struct lmi_answer_parser *p, size_t *i)
{
	const struct lmi_parse_notation *s = &p->notation;
	char q[4] = {s->quote, 0};

	if (s->triple)
		q[1] = q[2] = s->quote;
	return lmi_parse_literal(p, i, s->quote ? q : p->f->quote);
}

enum lmi_text_match lmi_parse_notation_string(struct lmi_answer_parser *p, size_t *i)
{
	const struct lmi_parse_notation *s = &p->notation;
	size_t n = p->n - p->at;

	if (!p->input_ended) /* report only complete characters */
		n -= lmi_text_utf8_incomplete_tail(p->buf + p->at + *i, n - *i);
	while (*i < n) {
		enum lmi_text_match g = closing_quote(p, i);

		if (g != LMI_TEXT_MATCH_NO)
			return g;
		if (p->buf[p->at + *i] == '\\' && s->quote) {
			g = escape(p, i);
			if (g != LMI_TEXT_MATCH_YES)
				return g;
		} else {
			put_byte(p, p->buf[p->at + (*i)++]);
		}
	}
	return LMI_TEXT_MATCH_NEED_MORE;
}
